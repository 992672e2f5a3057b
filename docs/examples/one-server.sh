#!/usr/bin/env bash
# One tidings server on one PostgreSQL server: a role with few rights, its password in a file, TLS with a verified
# certificate, a backup and its restoration.
#
# Everything runs on this machine, in a temporary folder that is removed at the end. docs/postgresql.md explains the steps.
needs=(createdb pg_dump pg_restore)
. "$(dirname "$0")/common.sh"

step "a PostgreSQL server that requires passwords and offers TLS"
# With an authority of your own, the servers' certificates can be replaced without changing their clients.
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=campus authority" -keyout ca.key -out ca.crt 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout server.key -out server.csr 2>/dev/null
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out server.crt \
    -extfile <(echo "subjectAltName = DNS:localhost") 2>/dev/null
[ "$(id -u)" != 0 ] || chown postgres: server.key server.crt
pg initdb -D "$folder/pg1" --encoding=UTF8 --locale=C --auth-local=peer --auth-host=scram-sha-256 >/dev/null
cat >>pg1/postgresql.conf <<END
port = 15432
listen_addresses = 'localhost'
unix_socket_directories = '$folder'
ssl = on
ssl_cert_file = '$folder/server.crt'
ssl_key_file = '$folder/server.key'
END
# hostssl refuses connections without TLS.
cat >pg1/pg_hba.conf <<END
local   all all peer
hostssl campus,restored tidings localhost scram-sha-256
END
pg pg_ctl -D "$folder/pg1" -l "$folder/pg1.log" -w start >/dev/null
export PGPORT=15432

step "a role that can do nothing except to use its own database"
password=$(openssl rand -hex 24)
pg createdb campus
pg psql -q -d campus -v ON_ERROR_STOP=1 <<END
CREATE ROLE tidings LOGIN PASSWORD '$password';
REVOKE ALL ON DATABASE campus FROM PUBLIC;
GRANT CONNECT ON DATABASE campus TO tidings;
GRANT USAGE, CREATE ON SCHEMA public TO tidings;
END

step "the password in a file, and the database in the settings"
cd state
echo "localhost:15432:campus:tidings:$password" >pgpass
export PGPASSFILE=$PWD/pgpass
cat >tidings.toml <<END
db = "postgres://tidings@localhost:15432/campus?sslmode=verify-full&sslrootcert=$folder/ca.crt"
listen = "127.0.0.1:18080"
END
tidings config | grep '^db '

step "the first start"
echo "correct horse" >password
tidings init --admin boss --password-file password
tidings serve >serve.log 2>&1 &
server=$!
api=http://127.0.0.1:18080
until_true curl -fs $api/readyz
token=$(curl -fs $api/sign_up --json \
    '{"id":"ann","pw":"correct horse","pw_check":"correct horse","nickname":"Ann"}' | grep -o 'ey[^"]*')
tidings notice add --title Library --post "Open until ten."
until_true sh -c "curl -fs $api/get_all_notice | grep -q Library"

step "a backup, while the server runs"
cd "$folder"
# The keys of visitors are in an unlogged table: a copy of them would outlive the day.
pg pg_dump --format=custom --no-unlogged-table-data campus >campus.dump
# Without it, tokens from before are invalid, and a server that is started refuses the database.
cp -p state/campus.key campus.key
kill $server
wait $server

step "the backup, restored into a new database"
pg createdb restored
pg psql -q -d restored -v ON_ERROR_STOP=1 <<END
REVOKE ALL ON DATABASE restored FROM PUBLIC;
GRANT CONNECT ON DATABASE restored TO tidings;
GRANT USAGE, CREATE ON SCHEMA public TO tidings;
END
pg pg_restore --exit-on-error --single-transaction --dbname=restored <campus.dump
cd state
sed -i s/campus/restored/ pgpass tidings.toml
cp -p ../campus.key restored.key
tidings serve >serve.log 2>&1 &
server=$!
until_true curl -fs $api/readyz
curl -fs $api/get_all_notice | grep -q Library
curl -fs $api/get_userinfo -H "Authorization: Bearer $token" | grep -q Ann
tidings notice add --title Restored --post "Everything is here."
until_true sh -c "curl -fs $api/get_all_notice | grep -q Restored"
kill $server
wait $server
