// Loaded into a server by walk.mjs: counts the functions that run between two messages from the parent process.
import { Session } from 'node:inspector/promises';
import { pathToFileURL } from 'node:url';

const dist = `${pathToFileURL(process.env.WALK_DIST)}/`;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Functions that ran since the last call, as `file function offset`. */
async function taken() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith(dist))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => ranges[0].count > 0)
        .map(({ functionName, ranges: [{ startOffset }] }) => ({
          file: url.slice(dist.length),
          name: functionName,
          startOffset,
        })),
    );
}

process.on('message', async (message) => {
  if (message === 'begin') {
    await taken();
    process.send('begun');
  } else if (message === 'end') process.send(await taken());
});
process.channel.unref();
