#!/bin/sh
# Models and migrations must agree, and production settings must pass Django's own deployment checks.
set -eu
cd "$(dirname "$0")/.."

VAR_DIR=$(mktemp -d)
trap 'rm -rf "$VAR_DIR"' EXIT
export VAR_DIR
export SITE_URL=https://holdfast.example ALLOWED_HOSTS=holdfast.example DEBUG=false
export DATABASE_URL="sqlite:///$VAR_DIR/db.sqlite3" REDIS_URL=redis://127.0.0.1:1/0
SECRET_KEY=$(.venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(64))')
export SECRET_KEY

.venv/bin/python manage.py vault_keys >/dev/null
.venv/bin/python manage.py makemigrations --check --dry-run
.venv/bin/python manage.py check --deploy --fail-level WARNING
