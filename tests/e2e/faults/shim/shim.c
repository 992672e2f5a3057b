/*
 * Intercepts the file operations of tidings: LD_PRELOAD places these functions before those of the C library.
 *
 * It watches the files of one directory (SHIM_DIR, without symbolic links), but not its subdirectories.
 *
 *   SHIM_STATE=FILE     two 64-bit counters, updated while the process runs: requested changes, injected faults
 *   SHIM_FAIL_AT=N      the N-th change (from 1) fails
 *   SHIM_FAIL=HOW       how it fails: enospc, eio, or short (a write takes half; anything else fails as enospc)
 *   SHIM_FAIL_LASTS=1   all later changes fail, too
 *   SHIM_JOURNAL=FILE   append every change with its data, every sync and every response to this file
 *   SHIM_IGNORE_SYNC=1  report success for syncs without performing or recording them
 *
 * Changes are: creating, writing, truncating or extending a file, syncing a file or the directory, and creating,
 * renaming or removing a name. Renames made by a direct system call are not intercepted, so the names in the
 * directory are recorded again before each sync and each response.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kinds of journal records; journal.rs uses the same numbers. */
enum { NEW = 1, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, NAMES, NAMES_SYNC_BEGIN, NAMES_SYNC_END, ANSWER };

/* The kinds of open files. */
enum { OTHER, DATA, SHARED_MEMORY, DIRECTORY };

struct header {
    uint32_t kind, length;
    uint64_t a, b;
};

#define DESCRIPTORS 65536
static struct { unsigned char kind; ino_t inode; } files[DESCRIPTORS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char directory[4096];
static int journal = -1;
static uint64_t none[2], *state = none;
static uint64_t fail_at;
static int fail_lasts, fail_short, fail_errno, ignore_sync;
static uint64_t syncs;
static char *last_names;
static size_t last_names_length;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_sync_file_range)(int, off_t, off_t, unsigned);
static int (*real_ftruncate)(int, off_t);
static int (*real_fallocate)(int, int, off_t, off_t);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_renameat)(int, const char *, int, const char *);
static int (*real_linkat)(int, const char *, int, const char *, int);

static void start(void)
{
    real_open = dlsym(RTLD_NEXT, "open64");
    real_openat = dlsym(RTLD_NEXT, "openat64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_writev = dlsym(RTLD_NEXT, "writev");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_pwritev = dlsym(RTLD_NEXT, "pwritev64");
    real_send = dlsym(RTLD_NEXT, "send");
    real_sendto = dlsym(RTLD_NEXT, "sendto");
    real_sendmsg = dlsym(RTLD_NEXT, "sendmsg");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_sync_file_range = dlsym(RTLD_NEXT, "sync_file_range");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fallocate = dlsym(RTLD_NEXT, "fallocate64");
    real_unlinkat = dlsym(RTLD_NEXT, "unlinkat");
    real_renameat = dlsym(RTLD_NEXT, "renameat");
    real_linkat = dlsym(RTLD_NEXT, "linkat");

    const char *text;
    if ((text = getenv("SHIM_DIR")))
        snprintf(directory, sizeof directory, "%s", text);
    if ((text = getenv("SHIM_STATE"))) {
        int fd = real_open(text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && real_ftruncate(fd, 16) == 0) {
            void *shared = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (shared != MAP_FAILED)
                state = shared;
        }
        if (fd >= 0)
            real_close(fd);
    }
    if ((text = getenv("SHIM_FAIL_AT")))
        fail_at = strtoull(text, NULL, 10);
    fail_lasts = getenv("SHIM_FAIL_LASTS") != NULL;
    text = getenv("SHIM_FAIL");
    fail_short = text && strcmp(text, "short") == 0;
    fail_errno = text && strcmp(text, "eio") == 0 ? EIO : ENOSPC;
    ignore_sync = getenv("SHIM_IGNORE_SYNC") != NULL;
    if ((text = getenv("SHIM_JOURNAL")))
        journal = real_open(text, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) { pthread_once(&once, start); }

static int kind_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? files[fd].kind : OTHER; }
static ino_t inode_of(int fd) { return files[fd].inode; }

/* Counts a change and returns whether it fails. The caller holds the lock. */
static int fails(void)
{
    uint64_t number = ++state[0];
    if (!fail_at || number < fail_at || (number > fail_at && !fail_lasts))
        return 0;
    state[1]++;
    return 1;
}

/* Like fails, for changes that cannot be partial; sets errno. */
static int refused(void)
{
    if (!fails())
        return 0;
    errno = fail_errno;
    return 1;
}

static void record(uint32_t kind, uint64_t a, uint64_t b, const void *data, size_t length)
{
    if (journal < 0)
        return;
    int before = errno;
    struct header header = { kind, (uint32_t)length, a, b };
    struct iovec parts[] = { { &header, sizeof header }, { (void *)data, length } };
    /* A single call, so that records of several processes are not interleaved. */
    if (real_writev(journal, parts, 2) != (ssize_t)(sizeof header + length))
        abort();
    errno = before;
}

/* Records the names in the directory if they have changed since the last record. */
static void record_names(void)
{
    if (journal < 0)
        return;
    int before = errno;
    DIR *open_directory = opendir(directory);
    if (!open_directory)
        return;
    char *names = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&names, &length);
    for (struct dirent *entry; (entry = readdir(open_directory));) {
        if (entry->d_type != DT_REG)
            continue;
        uint64_t inode = entry->d_ino;
        fwrite(&inode, sizeof inode, 1, out);
        fwrite(entry->d_name, strlen(entry->d_name) + 1, 1, out);
    }
    fclose(out);
    closedir(open_directory);
    if (last_names && length == last_names_length && memcmp(names, last_names, length) == 0) {
        free(names);
    } else {
        record(NAMES, 0, 0, names, length);
        free(last_names);
        last_names = names;
        last_names_length = length;
    }
    errno = before;
}

/* Registers a descriptor that was just opened. The caller holds the lock. */
static void opened(int fd, int is_new, int flags)
{
    char link[64], path[4096];
    if (fd < 0 || fd >= DESCRIPTORS || !*directory)
        return;
    int before = errno;
    files[fd].kind = OTHER;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t prefix = strlen(directory);
    struct stat about;
    if (length >= (ssize_t)prefix && memcmp(path, directory, prefix) == 0 && fstat(fd, &about) == 0) {
        path[length] = 0;
        files[fd].inode = about.st_ino;
        if (length == (ssize_t)prefix) {
            files[fd].kind = DIRECTORY;
        } else if (path[prefix] == '/' && !strchr(path + prefix + 1, '/') && S_ISREG(about.st_mode)) {
            int is_shared = length > 4 && strcmp(path + length - 4, "-shm") == 0;
            files[fd].kind = is_shared ? SHARED_MEMORY : DATA;
            if (!is_shared && is_new) {
                record(NEW, about.st_ino, 0, NULL, 0);
                record_names();
            } else if (!is_shared && flags & O_TRUNC) {
                record(TRUNCATE, about.st_ino, 0, NULL, 0);
            }
        }
    }
    errno = before;
}

/* Returns whether a path names a file in the directory. */
static int is_inside(int at, const char *path)
{
    char place[4096], full[4096];
    if (!*directory)
        return 0;
    int before = errno;
    snprintf(place, sizeof place, "%s", path);
    char *slash = strrchr(place, '/');
    if (slash == place)
        slash[1] = 0;
    else if (slash)
        *slash = 0;
    else
        strcpy(place, ".");
    char base[4160];
    if (at != AT_FDCWD && *path != '/')
        snprintf(base, sizeof base, "/proc/self/fd/%d/%.4000s", at, place);
    else
        snprintf(base, sizeof base, "%s", place);
    int inside = realpath(base, full) && strcmp(full, directory) == 0;
    errno = before;
    return inside;
}

static int open_at(int at, const char *path, int flags, mode_t mode)
{
    begin();
    /* Ignores O_TMPFILE, which contains the bits of O_DIRECTORY. */
    int may_make = flags & O_CREAT;
    pthread_mutex_lock(&lock);
    struct stat about;
    int before = errno;
    int is_new = may_make && fstatat(at, path, &about, AT_SYMLINK_NOFOLLOW) != 0 && is_inside(at, path);
    errno = before;
    int fd = -1;
    if (!is_new || !refused()) {
        fd = at == AT_FDCWD ? real_open(path, flags, mode) : real_openat(at, path, flags, mode);
        opened(fd, is_new, flags);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags); return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags); return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags); return open_at(at, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd)
{
    begin();
    if (kind_of(fd) != OTHER)
        files[fd].kind = OTHER;
    return real_close(fd);
}

/* Copies the buffers of a write into one, at most `most` bytes. */
static char *gather(const struct iovec *parts, int count, size_t most, size_t *length)
{
    size_t whole = 0;
    for (int i = 0; i < count; i++)
        whole += parts[i].iov_len;
    if (whole > most)
        whole = most;
    char *bytes = malloc(whole + 1);
    size_t done = 0;
    for (int i = 0; i < count && done < whole; i++) {
        size_t part = parts[i].iov_len < whole - done ? parts[i].iov_len : whole - done;
        memcpy(bytes + done, parts[i].iov_base, part);
        done += part;
    }
    *length = whole;
    return bytes;
}

/* Writes to a file in the directory; an offset of -1 means the current position. */
static ssize_t write_file(int fd, const struct iovec *parts, int count, off_t offset)
{
    size_t length;
    char *bytes = gather(parts, count, SIZE_MAX / 2, &length);
    pthread_mutex_lock(&lock);
    ssize_t written = -1;
    int failed = fails();
    if (failed && (!fail_short || length < 2)) {
        errno = fail_errno;
    } else {
        if (failed)
            length /= 2;
        written = offset < 0 ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
        if (written > 0 && kind_of(fd) == DATA && journal >= 0) {
            off_t at = offset < 0 ? lseek(fd, 0, SEEK_CUR) - written : offset;
            record(WRITE, inode_of(fd), (uint64_t)at, bytes, (size_t)written);
        }
    }
    pthread_mutex_unlock(&lock);
    int before = errno;
    free(bytes);
    errno = before;
    return written;
}

/* Records data for a client or for standard output before it is sent. */
static void record_answer(int fd, const struct iovec *parts, int count)
{
    if (journal < 0)
        return;
    int before = errno;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    uint64_t port = 0;
    int is_answer = fd == STDOUT_FILENO;
    if (!is_answer && getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.ss_family == AF_INET) {
        port = ntohs(((struct sockaddr_in *)&peer)->sin_port);
        is_answer = 1;
    }
    if (is_answer) {
        size_t length;
        char *bytes = gather(parts, count, 256, &length);
        pthread_mutex_lock(&lock);
        record_names();
        record(ANSWER, port, (uint64_t)getpid(), bytes, length);
        pthread_mutex_unlock(&lock);
        free(bytes);
    }
    errno = before;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    begin();
    struct iovec part = { (void *)bytes, length };
    if (kind_of(fd) != OTHER)
        return write_file(fd, &part, 1, -1);
    record_answer(fd, &part, 1);
    return real_write(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    begin();
    if (kind_of(fd) != OTHER)
        return write_file(fd, parts, count, -1);
    record_answer(fd, parts, count);
    return real_writev(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    begin();
    struct iovec part = { (void *)bytes, length };
    return kind_of(fd) == OTHER ? real_pwrite(fd, bytes, length, offset) : write_file(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    begin();
    return kind_of(fd) == OTHER ? real_pwritev(fd, parts, count, offset) : write_file(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return pwritev(fd, parts, count, offset); }

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    begin();
    struct iovec part = { (void *)bytes, length };
    record_answer(fd, &part, 1);
    return real_send(fd, bytes, length, flags);
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t size)
{
    begin();
    struct iovec part = { (void *)bytes, length };
    record_answer(fd, &part, 1);
    return real_sendto(fd, bytes, length, flags, to, size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    begin();
    record_answer(fd, message->msg_iov, (int)message->msg_iovlen);
    return real_sendmsg(fd, message, flags);
}

/* Changes made before the sync begins are on disk when it ends. Other threads may write meanwhile. */
static int sync_file(int fd, int (*sync)(int))
{
    int is_directory = kind_of(fd) == DIRECTORY;
    uint64_t inode = inode_of(fd);
    pthread_mutex_lock(&lock);
    int failed = refused();
    uint64_t number = ++syncs | (uint64_t)getpid() << 32;
    if (!failed && !ignore_sync) {
        record_names();
        record(is_directory ? NAMES_SYNC_BEGIN : SYNC_BEGIN, inode, number, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    if (failed || ignore_sync)
        return failed ? -1 : 0;
    int result = sync(fd);
    if (result == 0) {
        pthread_mutex_lock(&lock);
        record(is_directory ? NAMES_SYNC_END : SYNC_END, inode, number, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

static int is_synced_by_us(int fd) { return kind_of(fd) == DATA || kind_of(fd) == DIRECTORY; }

int fsync(int fd)
{
    begin();
    return is_synced_by_us(fd) ? sync_file(fd, real_fsync) : real_fsync(fd);
}

int fdatasync(int fd)
{
    begin();
    return is_synced_by_us(fd) ? sync_file(fd, real_fdatasync) : real_fdatasync(fd);
}

/* It guarantees nothing, so it is not recorded as a sync. */
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
    begin();
    if (kind_of(fd) != OTHER) {
        pthread_mutex_lock(&lock);
        int failed = refused();
        pthread_mutex_unlock(&lock);
        if (failed)
            return -1;
    }
    return real_sync_file_range(fd, offset, length, flags);
}

int ftruncate(int fd, off_t length)
{
    begin();
    if (kind_of(fd) == OTHER)
        return real_ftruncate(fd, length);
    pthread_mutex_lock(&lock);
    int result = refused() ? -1 : real_ftruncate(fd, length);
    if (result == 0 && kind_of(fd) == DATA)
        record(TRUNCATE, inode_of(fd), (uint64_t)length, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    begin();
    if (kind_of(fd) == OTHER)
        return real_fallocate(fd, mode, offset, length);
    /* Callers fall back to plain writes. */
    errno = EOPNOTSUPP;
    return -1;
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return fallocate(fd, mode, offset, length); }

int unlinkat(int at, const char *path, int flags)
{
    begin();
    if (!is_inside(at, path))
        return real_unlinkat(at, path, flags);
    pthread_mutex_lock(&lock);
    int result = refused() ? -1 : real_unlinkat(at, path, flags);
    record_names();
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int renameat(int at, const char *path, int to_at, const char *to)
{
    begin();
    if (!is_inside(at, path) && !is_inside(to_at, to))
        return real_renameat(at, path, to_at, to);
    pthread_mutex_lock(&lock);
    int result = refused() ? -1 : real_renameat(at, path, to_at, to);
    record_names();
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *path, const char *to) { return renameat(AT_FDCWD, path, AT_FDCWD, to); }

int linkat(int at, const char *path, int to_at, const char *to, int flags)
{
    begin();
    if (!is_inside(to_at, to))
        return real_linkat(at, path, to_at, to, flags);
    pthread_mutex_lock(&lock);
    int result = refused() ? -1 : real_linkat(at, path, to_at, to, flags);
    record_names();
    pthread_mutex_unlock(&lock);
    return result;
}

int link(const char *path, const char *to) { return linkat(AT_FDCWD, path, AT_FDCWD, to, 0); }
