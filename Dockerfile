# One image for web, workers, beat and migrations, and one for the proxy; docker-compose.yml says which is which.

FROM python:3.11.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
COPY requirements.txt /build/
RUN /opt/venv/bin/pip install --require-hashes -r /build/requirements.txt

FROM python:3.11.13-slim-bookworm AS collected
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    VAR_DIR=/var/lib/holdfast STATIC_ROOT=/srv/holdfast/static-collected
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/holdfast
COPY . .
RUN python manage.py collectstatic --no-input --verbosity 0

FROM caddy:2.11.7-alpine AS proxy
COPY deploy/Caddyfile /etc/caddy/Caddyfile
COPY --from=collected /srv/holdfast/static-collected /srv/static

FROM collected AS site
# The volumes take over who owns these directories.
RUN useradd --system --uid 10001 --no-create-home holdfast \
    && install -d -o holdfast -g holdfast -m 0700 /var/lib/holdfast /vault/private /vault/public /watermark \
       /scratch /backups
USER holdfast
EXPOSE 8000
CMD ["gunicorn", "--bind", "0.0.0.0:8000"]
