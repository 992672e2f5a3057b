# The beginning of both examples: strict errors, a temporary folder, PostgreSQL's programs, and the end.

set -euo pipefail
umask 077

# Debian keeps the programs of each version in a directory of their own.
programs=${TIDINGS_POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
PATH=${programs:+$programs:}$PATH:/usr/sbin
for program in tidings curl openssl initdb pg_ctl psql "${needs[@]}"; do
    command -v "$program" >/dev/null || { echo "$0: $program is not installed" >&2; exit 1; }
done
# The settings of the caller must not choose other servers and databases.
unset "${!PG@}" "${!TIDINGS_@}"

# Runs a program of PostgreSQL. Its server does not run as root: then this is done as the user postgres, who may not
# enter all directories.
pg() {
    if [ "$(id -u)" = 0 ]; then (cd "$folder" && runuser -u postgres -- "$@"); else "$@"; fi
}

folder=$(mktemp -d /tmp/tidings-example.XXXXXX)
[ "$(id -u)" != 0 ] || chown postgres: "$folder"
# The temporary folder has the sockets of the PostgreSQL servers, too.
export PGHOST=$folder PGDATABASE=postgres
cd "$folder"
mkdir state

clean_up() {
    status=$?
    cd "$folder"
    # The last lines of the logs help if a step has failed.
    [ "$status" = 0 ] || tail -n 20 ./*.log state/*.log 2>/dev/null || true
    jobs -p | xargs -r kill 2>/dev/null || true
    wait
    for data in pg*/; do pg pg_ctl -D "$folder/$data" -m immediate stop >/dev/null 2>&1 || true; done
    cd /
    rm -rf "$folder"
    exit "$status"
}
trap clean_up EXIT

step() {
    printf '== %s\n' "$*"
}

# Waits until a command succeeds, at most a minute.
until_true() {
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    echo "$0: this never succeeded: $*" >&2
    exit 1
}
