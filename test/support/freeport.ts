import { once } from 'node:events';
import { createServer } from 'node:net';
import { threadId } from 'node:worker_threads';

/**
 * Below the ports that a system gives to outgoing connections (on Linux 32,768 and up): none of those takes the port
 * between this look and the start of the server that is to listen there. Browsers refuse 10,080.
 */
const FIRST = 10_500;
const COUNT = 22_000;
/** Ports that a process tries before those of the process with the next id. */
const PER_PROCESS = 100;

let tried = 0;

/** A TCP port of loopback that is free now, and that no other test process is about to take. */
export async function freePort(): Promise<number> {
  for (; tried < COUNT; tried += 1) {
    const port = FIRST + (((process.pid + threadId) * PER_PROCESS + tried) % COUNT);
    if (await isFree(port)) {
      tried += 1;
      return port;
    }
  }
  throw new Error('no TCP port is free');
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
