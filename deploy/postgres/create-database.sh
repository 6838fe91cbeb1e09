#!/bin/sh
# Makes the role and the database of the shards when the first server is made. $1: how to connect as the superuser.
set -eu
psql "$1" --quiet --set=ON_ERROR_STOP=1 --set=password="$DATABASE_PASSWORD" <<'SQL'
CREATE ROLE guildhall LOGIN PASSWORD :'password';
-- A pooler rejects these as parameters of a connection, so reads outside of transactions take them from the role.
ALTER ROLE guildhall SET statement_timeout = '60s';
CREATE DATABASE guildhall OWNER guildhall;
SQL
