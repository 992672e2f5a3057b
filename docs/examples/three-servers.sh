#!/usr/bin/env bash
# Three tidings servers behind haproxy, on a PostgreSQL primary with a synchronous standby: the primary is killed, the
# standby promoted, the old primary added as the new standby, and the tidings servers are restarted one by one.
#
# Everything runs on this machine, in a temporary folder that is removed at the end. docs/postgresql.md explains the steps.
needs=(createdb pg_basebackup haproxy)
. "$(dirname "$0")/common.sh"

step "the primary, pg1"
password=$(openssl rand -hex 24)
replica=$(openssl rand -hex 24)
pg initdb -D "$folder/pg1" --encoding=UTF8 --locale=C --auth-local=peer --auth-host=scram-sha-256 >/dev/null
cat >>pg1/postgresql.conf <<END
port = 15432
listen_addresses = 'localhost'
unix_socket_directories = '$folder'
END
pg pg_ctl -D "$folder/pg1" -l "$folder/pg1.log" -w start >/dev/null
pg createdb -p 15432 campus
pg psql -q -p 15432 -d campus -v ON_ERROR_STOP=1 <<END
CREATE ROLE replica LOGIN REPLICATION PASSWORD '$replica';
CREATE ROLE tidings LOGIN PASSWORD '$password';
REVOKE ALL ON DATABASE campus FROM PUBLIC;
GRANT CONNECT ON DATABASE campus TO tidings;
GRANT USAGE, CREATE ON SCHEMA public TO tidings;
END

step "the standby, pg2"
cat >replica.pgpass <<END
localhost:*:replication:replica:$replica
END
[ "$(id -u)" != 0 ] || chown postgres: replica.pgpass
# Copies the data of the server on port $1 to the directory $2, and starts it there as a standby on port $3.
add_standby() {
    pg pg_basebackup -D "$folder/$2" -R -c fast \
        -d "host=localhost port=$1 user=replica application_name=$2 passfile=$folder/replica.pgpass"
    echo "port = $3" >>"$folder/$2/postgresql.conf"
    pg pg_ctl -D "$folder/$2" -l "$folder/$2.log" -w start >/dev/null
}
add_standby 15432 pg2 15433

step "commits wait for the standby"
# Sets the standby for which commits of the server on port $1 wait. An empty name means that they wait for none.
wait_for() {
    pg psql -q -p "$1" -c "ALTER SYSTEM SET synchronous_standby_names = '$2'" -c "SELECT pg_reload_conf()" >/dev/null
}
# Succeeds if the standby $2 of the server on port $1 is connected, and commits wait for it.
is_synchronous() {
    pg psql -qAt -p "$1" -c "SELECT sync_state FROM pg_stat_replication WHERE application_name = '$2'" | grep -q sync
}
wait_for 15432 pg2
until_true is_synchronous 15432 pg2

step "three tidings servers with one key"
cd state
head -c 32 /dev/urandom >token.key
echo "localhost:*:campus:tidings:$password" >pgpass
export PGPASSFILE=$PWD/pgpass
cat >tidings.toml <<END
db = "postgres://tidings@localhost:15432,localhost:15433/campus"
token-key-file = "$PWD/token.key"
trust-proxy = ["127.0.0.1"]
END
echo "correct horse" >password
tidings init --admin boss --password-file password
declare -A servers
serve() {
    tidings serve --listen "127.0.0.1:$1" >>"serve-$1.log" 2>&1 &
    servers[$1]=$!
    until_true curl -fs "http://127.0.0.1:$1/readyz"
}
for port in 18081 18082 18083; do serve $port; done

step "haproxy in front of them"
cat >haproxy.cfg <<END
defaults
    mode http
    timeout connect 2s
    timeout check 2s
    timeout client 75s
    timeout server 75s
    option forwardfor
    # A connection that fails is tried on another server. A request that was sent is never sent again.
    retries 3
    option redispatch 1
frontend campus
    bind 127.0.0.1:18080
    default_backend tidings
backend tidings
    balance leastconn
    option httpchk GET /readyz
    default-server check inter 500ms fall 1 rise 1
    server a 127.0.0.1:18081
    server b 127.0.0.1:18082
    server c 127.0.0.1:18083
END
haproxy -f haproxy.cfg >haproxy.log 2>&1 &
api=http://127.0.0.1:18080
until_true curl -fs $api/readyz
token=$(tidings member sign-in boss --password-file password)

# Publishes a notice, and notes its title when the answer says that it is stored.
publish() {
    if curl -fs -m 60 $api/insert_notice -H "Authorization: Bearer $token" \
        --json "{\"title\":\"$1\",\"post\":\"…\"}" | grep -q '"result":"success"'; then
        echo "$1" >>acknowledged
    fi
}
# Writes the titles of all notices on the server on port $1 to the file `stored`. Fails unless every acknowledged one is
# among them.
has_acknowledged() {
    curl -fs "http://127.0.0.1:$1/get_all_notice" | grep -o '"title":"[^"]*"' | cut -d '"' -f 4 | sort >stored
    sort acknowledged | comm -23 - stored >missing
    [ ! -s missing ]
}
# Fails unless every acknowledged notice is on each server, and none is there twice. A server shows a change of another
# one within a second.
compare() {
    for port in 18081 18082 18083; do
        until_true has_acknowledged "$port"
        [ -z "$(uniq -d stored)" ] || { echo "stored twice: $(uniq -d stored)" >&2; exit 1; }
    done
}
for n in 1 2 3; do publish "before $n"; done
compare

step "the primary fails"
(for n in $(seq 30); do publish "meanwhile $n"; sleep 0.1; done) &
writer=$!
sleep 1
pg pg_ctl -D "$folder/pg1" -m immediate stop >/dev/null
for port in 18081 18082 18083; do
    until_true sh -c "! curl -fs http://127.0.0.1:$port/readyz"
done

step "the standby becomes the primary"
# First make sure that the old primary cannot come back as one: here it has stopped, and nothing starts it.
pg pg_ctl -D "$folder/pg2" -w promote >/dev/null
until_true curl -fs $api/readyz
publish "after 1"
grep -q "after 1" acknowledged
wait $writer
compare

step "the old primary becomes the standby"
rm -r "${folder:?}/pg1"
add_standby 15433 pg1 15432
wait_for 15433 pg1
until_true is_synchronous 15433 pg1
publish "after 2"

step "a rolling restart of the tidings servers"
(for n in $(seq 60); do publish "restart $n"; sleep 0.1; done) &
writer=$!
for port in 18081 18082 18083; do
    kill "${servers[$port]}"
    wait "${servers[$port]}"
    serve $port
    # haproxy looks every half second.
    sleep 1
done
wait $writer
[ "$(grep -c restart acknowledged)" = 60 ] || { echo "a request failed during the restart" >&2; exit 1; }
compare
for server in "${servers[@]}"; do kill "$server"; done
wait "${servers[@]}"
