# Node's own image on Debian trixie: the native server's builds for Node 22 and 24 need glibc 2.38 or newer.
FROM node:24-trixie-slim AS build
WORKDIR /build
# Builds the media addon; the image itself has no compiler.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json ./
RUN npm ci --include=dev --workspaces=false --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --workspaces=false --no-audit --no-fund \
    && npm install --no-save --omit=dev --workspaces=false --no-audit --no-fund sharp@^0.35.5 \
    && node scripts/prune.mjs node_modules dist

FROM node:24-trixie-slim
# An allocator that gives freed memory back: with many sessions the server takes a tenth less (docs/deploy.md, "Memory").
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
ENV LD_PRELOAD=libjemalloc.so.2 \
    MALLOC_CONF=narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0
ENV NODE_ENV=production \
    GUILDHALL_DATA_DIR=/var/lib/guildhall \
    GUILDHALL_LISTEN_HOST=0.0.0.0 \
    GUILDHALL_ADMIN_HOST=0.0.0.0
WORKDIR /opt/guildhall
COPY --from=build /build/package.json /build/LICENSE /build/NOTICE /build/CHANGELOG.md ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/bench/payloads bench/payloads
COPY --from=build /build/dist dist
COPY --from=build /build/docs docs
COPY --from=build /build/templates templates
RUN ln -s /opt/guildhall/dist/cli.js /usr/local/bin/guildhall \
    && chmod +x dist/cli.js \
    && install -d -o node -g node /var/lib/guildhall /var/lib/guildhall/journal
USER node
VOLUME /var/lib/guildhall
# API, gateway and files; admin, health and metrics; calls (TCP and UDP); calls of browsers; links between shards.
EXPOSE 3000 3001 3002/tcp 3002/udp 3022/udp 3010
# Whether it serves: a shard that drains or joins is healthy, and not ready (/readyz).
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.GUILDHALL_ADMIN_PORT ?? 3001}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["guildhall"]
CMD ["start"]
