#!/bin/sh
# Runs PgBouncer with the password and the address of the primary from the environment, as a container needs it.
set -eu
umask 077
printf '"guildhall" "%s"\n' "$DATABASE_PASSWORD" > /tmp/users.txt
sed -e "s/host=primary/host=$PRIMARY_HOST/" -e 's,/etc/pgbouncer/users.txt,/tmp/users.txt,' pgbouncer.ini > /tmp/pgbouncer.ini
exec pgbouncer /tmp/pgbouncer.ini
