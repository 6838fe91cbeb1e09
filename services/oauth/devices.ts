import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { DeviceRequest } from '../../engine/oauth/facts.ts';
import { agree } from '../../engine/oauth/holdings.ts';
import { readScopes } from '../../engine/oauth/scopes.ts';
import type { ExternalProof } from '../../engine/provisional/identity.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { oauthRefusal } from '../../protocol/oauth.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { Secret } from '../../protocol/secret.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { OAuthStore } from '../../storage/oauth/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { hashOf } from '../identity/identity.ts';
import type { GrantCache, Grants } from './grants.ts';
import { authorizedFacts, type InstallPorts } from './install.ts';
import type { DeviceCodes, Devices, OAuth, TokenAnswer } from './ports.ts';

export interface DevicePorts extends Pick<InstallPorts, 'users' | 'guildObject'> {
  readonly store: OAuthStore;
  readonly grantCache: GrantCache;
  readonly grants: Grants;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly client: OAuth['client'];
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  randomBytes(size: number): Uint8Array;
  readonly routing: Routing;
  /** Issues tokens to a granted device; runs on the owner shard of the user. */
  exchange(device: GrantedDevice, external: ExternalProof | null): Promise<Reply<TokenAnswer>>;
}

/** A device that a user has granted access. */
interface GrantedDevice extends DeviceRequest {
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
}

/** Device authorization, with the polling of the token endpoint. */
export interface DeviceFlow extends Devices {
  /** Issues tokens once the user has agreed; until then refuses with the RFC's error. */
  poll(
    deviceCode: string,
    applicationId: ApplicationId,
    external: ExternalProof | null,
  ): Promise<Reply<TokenAnswer>>;
}

/**
 * @source https://docs.discord.com/developers/discord-social-sdk/development-guides/account-linking-on-consoles,
 * "Example Response"
 */
export const DEVICE_LIFE_SEC = 300;
export const POLL_INTERVAL_SEC = 5;
/** Seconds that each early poll adds to the interval. @source RFC 8628, section 3.5 */
const SLOWER_SEC = 5;
/** Tolerated shortening of an interval by clock drift and network jitter. */
const POLL_LENIENCY_MS = 500;
/** Most devices whose poll times are kept; the least recently polled is evicted. */
const POLLS_MAX = 10_000;
/** Consonants that spell no words and are not confusable. @source RFC 8628, section 6.1 */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_LENGTH = 8;
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;
const DEVICE_CODE = /^[\w-]{43}$/;
/** Largest multiple of the alphabet size in a byte. Larger bytes are discarded, because they would favour the first letters. */
const FAIR_BYTE_MAX = Math.floor(256 / ALPHABET.length) * ALPHABET.length;

const failure = (...given: Parameters<typeof oauthRefusal>) => ({
  ok: false as const,
  refusal: oauthRefusal(...given),
});
const EXPIRED = failure('expired_token', 'The device_code is unknown, used or expired.');

function makeUserCode(randomBytes: DevicePorts['randomBytes']): string {
  let text = '';
  while (text.length < USER_CODE_LENGTH) {
    const fair = [...randomBytes(USER_CODE_LENGTH * 2)].filter((byte) => byte < FAIR_BYTE_MAX);
    text += fair.map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
  }
  return text.slice(0, USER_CODE_LENGTH);
}

/** The request of a sign-in belongs to no application. */
const ownerOf = ({ applicationId, id }: DeviceRequest): string => applicationId ?? id;

/** Normalises a typed user code; null for malformed text. */
function typedCode(text: string): string | null {
  if (text.length > 32) return null;
  const code = text.replace(/[\s-]/g, '').toUpperCase();
  return USER_CODE.test(code) ? code : null;
}

/** Tracks poll times and lengthens the interval of devices that poll too early. */
function createPollLimiter() {
  /** Next allowed poll and current interval by device; least recently polled first. */
  const polls = new Map<string, { nextMs: number; intervalSec: number }>();

  /** Records a poll; true when it came before the interval was over. */
  function polledTooSoon(id: string, nowMs: number): boolean {
    const before = polls.get(id);
    const tooSoon = before !== undefined && nowMs < before.nextMs - POLL_LENIENCY_MS;
    const intervalSec = (before?.intervalSec ?? POLL_INTERVAL_SEC) + (tooSoon ? SLOWER_SEC : 0);
    polls.delete(id);
    polls.set(id, { nextMs: nowMs + intervalSec * 1000, intervalSec });
    dropOldest(polls, POLLS_MAX);
    return tooSoon;
  }
  return { hurried: polledTooSoon };
}

async function pendingRequest(
  { store, grants }: DevicePorts,
  userCode: string,
): Promise<DeviceRequest | null> {
  const code = typedCode(userCode);
  const request = code && (await store.deviceRequestOf(hashOf(code)));
  return request && request.expiresMs > grants.envNow().nowMs ? request : null;
}

/** Commits the user's approval of a device: the grant, the device request and the application's webhook event. */
async function approve(ports: DevicePorts, request: DeviceRequest, userId: UserId): Promise<boolean> {
  const { grants } = ports;
  const { applicationId, scopes } = request;
  if (applicationId === null) {
    const written = { ...request, state: 'granted' as const, userId };
    await ports.commit(ownerOf(request), [
      { type: 'deviceRequestWritten', request: written, nowMs: grants.envNow().nowMs },
    ]);
    return true;
  }
  const application = await ports.applications.get(applicationId);
  if (!application) return false;
  const authorized = { application, userId, scopes, integrationType: null, guildId: null };
  const events = await authorizedFacts(ports, authorized, grants.envNow());
  return ports.grantCache.change(userId, (held) => {
    const env = grants.envNow();
    const made = agree(held, { userId, applicationId, scopes }, env);
    if (!made) return { value: false, facts: [] };
    const answer = { ...request, state: 'granted' as const, userId };
    const written: StoredFact = { type: 'deviceRequestWritten', request: answer, nowMs: env.nowMs };
    return { value: true, facts: [...made.facts, written, ...events] };
  });
}

async function beginRequest(
  ports: DevicePorts,
  clientId: string,
  clientSecret: string | null,
  scope: string,
): Promise<Reply<DeviceCodes>> {
  const client = await ports.client(clientId, clientSecret);
  if (!client) return failure('invalid_client', 'The client is unknown or its secret is wrong.');
  const asked = readScopes(scope, client.application, 'device');
  if (!asked.ok) return asked;
  return { ok: true, value: await writeRequest(ports, client.application.id, asked.scopes) };
}

/** Creates the codes of a request and commits their hashes. */
async function writeRequest(
  ports: DevicePorts,
  applicationId: ApplicationId | null,
  scopes: readonly Scope[],
): Promise<DeviceCodes> {
  const { nowMs } = ports.grants.envNow();
  const deviceCode = Buffer.from(ports.randomBytes(32)).toString('base64url');
  const userCode = makeUserCode((size) => ports.randomBytes(size));
  const request: DeviceRequest = {
    id: hashOf(deviceCode),
    userCodeHash: hashOf(userCode),
    applicationId,
    scopes,
    expiresMs: nowMs + DEVICE_LIFE_SEC * 1000,
    state: 'pending',
    userId: null,
  };
  await ports.commit(ownerOf(request), [{ type: 'deviceRequestWritten', request, nowMs }]);
  const times = { expiresInSec: DEVICE_LIFE_SEC, intervalSec: POLL_INTERVAL_SEC };
  return { deviceCode: new Secret(deviceCode), userCode, ...times };
}

/** Device authorization grants. @source RFC 8628 */
export function createDevices(ports: DevicePorts): DeviceFlow {
  const owners = atOwners(ports);
  return {
    begin: (clientId, clientSecret, scope) => beginRequest(ports, clientId, clientSecret, scope),
    beginSignIn: () => writeRequest(ports, null, []),

    signedIn: async (deviceCode) =>
      DEVICE_CODE.test(deviceCode) ? owners.signedIn(hashOf(deviceCode)) : EXPIRED,

    async look(userCode) {
      const request = await pendingRequest(ports, userCode);
      if (!request) return null;
      const { applicationId, scopes, state } = request;
      if (applicationId === null) return { application: null, scopes, state };
      const application = await ports.applications.get(applicationId);
      return application ? { application, scopes, state } : null;
    },

    async finish(userId, userCode, granted) {
      const request = await pendingRequest(ports, userCode);
      return request !== null && owners.finish(request.id, { userId, userCode, granted });
    },

    poll: async (deviceCode, applicationId, external) =>
      DEVICE_CODE.test(deviceCode) ? owners.poll(hashOf(deviceCode), applicationId, external) : EXPIRED,
  };
}

interface Finish {
  readonly userId: UserId;
  readonly userCode: string;
  readonly granted: boolean;
}

/** Operations of one device run in order on the owner shard of its id, which is a hash; its grant on the owner shard of the user. */
function atOwners(ports: DevicePorts) {
  const { store, grants, routing } = ports;
  const mutex = keyedMutex<string>();
  const polls = createPollLimiter();
  const waiting = ({ id, state }: DeviceRequest, nowMs: number) => {
    if (state === 'denied') return failure('access_denied', 'The user has denied the request.');
    if (polls.hurried(id, nowMs))
      return failure(
        'slow_down',
        'Polled before the interval ended; the interval is now five seconds longer.',
      );
    return failure('authorization_pending', 'The user has not answered yet.');
  };
  const approveAtUser = routing.ask('devices.approve', (userId: UserId, request: DeviceRequest) =>
    approve(ports, request, userId),
  );
  const exchange = routing.ask(
    'devices.exchange',
    (_userId: UserId, device: GrantedDevice, external: ExternalProof | null) =>
      ports.exchange(device, external),
  );
  return {
    finish: routing.ask(
      'devices.finish',
      (id: string, { userId, userCode, granted }: Finish): Promise<boolean> =>
        mutex(id, async () => {
          const request = await pendingRequest(ports, userCode);
          if (request?.state !== 'pending') return false;
          if (granted) return approveAtUser(userId, request);
          const answer: DeviceRequest = { ...request, state: 'denied', userId };
          const { nowMs } = grants.envNow();
          await ports.commit(ownerOf(answer), [{ type: 'deviceRequestWritten', request: answer, nowMs }]);
          return true;
        }),
    ),

    poll: routing.ask(
      'devices.poll',
      (
        id: string,
        applicationId: ApplicationId,
        external: ExternalProof | null,
      ): Promise<Reply<TokenAnswer>> =>
        mutex(id, async () => {
          const request = await store.deviceRequest(id);
          const { nowMs } = grants.envNow();
          if (request?.applicationId !== applicationId || request.expiresMs <= nowMs) return EXPIRED;
          const { state, userId } = request;
          if (state === 'granted' && userId !== null)
            return exchange(userId, { ...request, userId, applicationId }, external);
          return waiting(request, nowMs);
        }),
    ),

    signedIn: routing.ask(
      'devices.signedIn',
      (id: string): Promise<Reply<UserId>> =>
        mutex(id, async () => {
          const request = await store.deviceRequest(id);
          const { nowMs } = grants.envNow();
          if (request?.applicationId !== null || request.expiresMs <= nowMs) return EXPIRED;
          const { state, userId } = request;
          if (state !== 'granted' || userId === null) return waiting(request, nowMs);
          await ports.commit(ownerOf(request), [{ type: 'deviceRequestEnded', id }]);
          return { ok: true, value: userId };
        }),
    ),
  };
}
