import { pino } from 'pino';
import { REDACTION } from '../actors/identity/secret.ts';
import type { Config } from '../config.ts';
import type { Addresses, Engine } from '../embedding.ts';
import { type AdminServer, openAdminServer } from '../transports/admin/server.ts';
import { CommandError, type World } from './world.ts';

/** A server that runs in this process until it is told to stop. */
export interface Serving {
  readonly engine: Engine;
  readonly addresses: Addresses;
  readonly adminUrl: string;
}

/**
 * Brings the engine up, lets `ready` say so, and serves until the world says stop; then drains and closes within
 * `drain_timeout_ms`.
 *
 * @returns the exit code: 0 after a full drain, 1 when it had to be cut short.
 */
export async function serve(
  world: World,
  config: Config,
  ready: (serving: Serving) => Promise<void> | void,
): Promise<number> {
  const stop = world.untilToldToStop();
  const logger = pino(
    { level: config.log_level, redact: REDACTION },
    pino.destination({ fd: 2, sync: true }),
  );
  const createEngine = await world.loadEngine();
  const engine = await createEngine({ config, logger });
  let admin: AdminServer | null = null;
  try {
    admin = await openAdmin(engine, config);
    const addresses = await listen(engine, config);
    await ready({ engine, addresses, adminUrl: admin.url });
  } catch (error) {
    await admin?.close();
    await engine.close();
    throw error;
  }
  await stop;
  logger.info('Draining: sessions are told to reconnect, commits are flushed.');
  const drained = await within(config.drain_timeout_ms, async () => {
    await engine.drain();
    await engine.close();
  });
  await admin.close();
  if (!drained) logger.error(`Not drained after ${config.drain_timeout_ms} ms.`);
  return drained ? 0 : 1;

  function openAdmin(running: Engine, { admin_host: host, admin_port: port, admin_token: token }: Config) {
    return openAdminServer({ engine: running, host, port, token, logger }).catch((error: Error) => {
      throw portTaken('admin', host, port, '--admin-port 0', error);
    });
  }
}

async function listen(engine: Engine, { listen_host: host, listen_port: port }: Config): Promise<Addresses> {
  try {
    return await engine.listen();
  } catch (error) {
    throw portTaken('server', host, port, '--port 0', error as Error);
  }
}

function portTaken(what: string, host: string, port: number, flag: string, cause: Error): CommandError {
  return new CommandError(
    `The ${what} cannot listen on ${host}:${port}: ${cause.message}`,
    `Is another server running there? Stop it, or take a free port with ${flag}.`,
    { cause },
  );
}

/** False when the job was not done in time. */
async function within(timeoutMs: number, job: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([job().then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
