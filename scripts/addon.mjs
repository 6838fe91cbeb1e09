// Builds the media addon (media/io/native) into dist/native where a C compiler and Node's headers are; elsewhere it says why
// not, and the server uses node:dgram. `node scripts/addon.mjs` also builds for another processor where its compiler is.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, say } from './prepare.mjs';

const SOURCES = join(ROOT, 'media', 'io', 'native');
const TARGET = join(ROOT, 'dist', 'native');
/** Undefined symbols are Node's own: with `now`, a Node without them refuses the file, instead of ending at the first call. */
const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-O3', '-g0', '-Wall', '-Wextra', '-Werror'],
  ...['-fPIC', '-shared', '-fvisibility=hidden', '-fstack-protector-strong', '-Wl,-z,now', '-Wl,-z,relro'],
];
/** Compilers for another processor, by its name in Node. */
const CROSS = { x64: 'x86_64-linux-gnu-gcc', arm64: 'aarch64-linux-gnu-gcc' };
const COMPILE_TIMEOUT_MS = 60_000;

/** Node's own headers: next to its program, or where the system's package puts them. */
function headers() {
  const places = [join(dirname(dirname(process.execPath)), 'include', 'node'), '/usr/include/node'];
  return places.find((place) =>
    ['node_api.h', 'uv.h', 'openssl/evp.h'].every((file) => existsSync(join(place, file))),
  );
}

const nameOf = (arch) => join(TARGET, `media-linux-${arch}.node`);
const isFresh = (arch, newestMs) => existsSync(nameOf(arch)) && changedMs(nameOf(arch)) >= newestMs;
const changedMs = (path) => statSync(path).mtimeMs;

function compile(compiler, arch, include) {
  const files = readdirSync(SOURCES).filter((file) => file.endsWith('.c'));
  const unfinished = `${nameOf(arch)}.${process.pid}`;
  mkdirSync(TARGET, { recursive: true });
  const args = [...FLAGS, '-I', include, ...files.map((file) => join(SOURCES, file)), '-o', unfinished];
  const { status, error, stderr } = spawnSync(compiler, args, {
    encoding: 'utf8',
    timeout: COMPILE_TIMEOUT_MS,
  });
  if (status !== 0) return error?.message ?? stderr.split('\n').slice(0, 5).join('\n');
  renameSync(unfinished, nameOf(arch));
  return null;
}

/**
 * Builds the addon for this machine if it is missing or older than its sources, and with `isForAll` for every processor that
 * has a compiler here. Never fails: returns why there is none for this machine, or null.
 */
export function buildAddon({ isForAll = false } = {}) {
  if (process.platform !== 'linux') return `no media addon for ${process.platform}`;
  const newestMs = Math.max(...readdirSync(SOURCES).map((file) => changedMs(join(SOURCES, file))));
  const own = process.arch;
  const include = headers();
  if (include === undefined) return "Node's headers are not installed";
  for (const [arch, compiler] of Object.entries(CROSS))
    if (isForAll && arch !== own && !isFresh(arch, newestMs) && isInstalled(compiler)) {
      const why = compile(compiler, arch, include);
      if (why !== null) say(`The media addon could not be built for ${arch}: ${why}`);
    }
  if (isFresh(own, newestMs)) return null;
  if (!isInstalled('cc')) return 'no C compiler';
  return compile('cc', own, include);
}

const isInstalled = (compiler) =>
  spawnSync(compiler, ['--version'], { timeout: COMPILE_TIMEOUT_MS }).status === 0;

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const why = buildAddon({ isForAll: true });
  say(
    why === null
      ? `The media addon is in ${TARGET}.`
      : `The media addon is not built (${why}): node:dgram sends.`,
  );
}
