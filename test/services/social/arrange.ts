import { createServices } from '../../../compose/api.ts';
import type { Config } from '../../../config/config.ts';
import type { Authorization } from '../../../engine/oauth/authorization.ts';
import type { ApplicationId, GuildId, UserId } from '../../../protocol/ids.ts';
import { ALL_INTENTS } from '../../../protocol/intents.ts';
import { expandScopes, type Scope } from '../../../protocol/scopes.ts';
import type { Person } from '../../../services/social/ports.ts';
import { openInstance, type RecordingSink, until } from '../../support/instance.ts';

type Instance = Awaited<ReturnType<typeof openInstance>>;

let names = 0;

/** The services of REST handlers that these tests use. */
const servicesOf = (instance: Instance) =>
  createServices({
    ...instance,
    ...instance.features,
    authorizeRequests: {},
    blobs: {} as never,
    nextId: instance.foundation.nextId,
    nowMs: () => instance.clock.now(),
    randomBytes: instance.foundation.randomBytes,
    monotonic: () => instance.clock.monotonic(),
    forget: () => {},
    gateway: {
      url: '',
      sessionStart: async () => ({ total: 0, remaining: 0, reset_after: 0, max_concurrency: 0 }),
    },
  } as never);

/** An instance with people in it, and games that act for them. */
export async function openSocial(config: Partial<Config> = {}) {
  const instance = await openInstance(config);
  const { social, oauth } = instance.features;
  const services = servicesOf(instance);

  async function person(
    name = 'person',
  ): Promise<Person & { readonly name: string; readonly token: string }> {
    const username = `${name}${names++}`;
    const { user, token } = await instance.operator.createUser({ username });
    return { userId: user.id as UserId, authorization: null, name: username, token };
  }

  async function game(name = 'Chess'): Promise<ApplicationId> {
    return (await instance.operator.createApplication({ name })).application.id;
  }

  /** The game that acts for a person, as its token says. */
  async function playing(
    { userId }: Pick<Person, 'userId'>,
    applicationId: ApplicationId,
    ...scopes: Scope[]
  ): Promise<Person & { readonly authorization: Authorization; readonly token: string }> {
    const asked = scopes.length === 0 ? (['sdk.social_layer'] as const) : scopes;
    const issued = await oauth.issue({ userId, applicationId, scopes: asked, refreshable: false });
    const token = issued.accessToken.reveal();
    const principal = await oauth.authenticate(token);
    if (!principal?.authorization) throw new Error("The token is nobody's.");
    return { userId, authorization: { ...principal.authorization, scopes: expandScopes(asked) }, token };
  }

  async function connect({ token }: { readonly token: string }, intents = ALL_INTENTS) {
    const { sink, session } = await instance.connect(token, intents);
    await until(() => sink.names.includes('READY'), 'READY');
    return { sink, session, id: session.id };
  }

  async function befriend(a: Person, b: Person, applicationId: ApplicationId | null = null): Promise<void> {
    await social.relationships.request(a, b.userId, applicationId);
    await social.relationships.request(b, a.userId, applicationId);
  }

  async function guildOf(...people: Person[]): Promise<GuildId> {
    const [owner, ...rest] = people;
    const guild = await instance.operator.createGuild({ name: 'Shared', ownerId: owner!.userId });
    for (const { userId } of rest)
      await instance.operator.addMember({ guildId: guild.id as GuildId, userId });
    return guild.id as GuildId;
  }

  return {
    ...instance,
    social,
    open: services.users.openPrivateChannel,
    services,
    person,
    game,
    playing,
    connect,
    befriend,
    guildOf,
  };
}

/** Lets a game get webhook events at a URL that is not verified. */
export async function subscribe(
  { storage, commitAsOwner }: Pick<Awaited<ReturnType<typeof openInstance>>, 'storage' | 'commitAsOwner'>,
  id: ApplicationId,
  types: readonly string[],
): Promise<void> {
  const application = await storage.applications.get(id);
  if (!application) throw new Error('There is no such game.');
  const event_webhooks_url = 'https://game.test/events';
  const change = { event_webhooks_url, event_webhooks_status: 2, event_webhooks_types: types };
  await commitAsOwner(id, [{ type: 'applicationUpdated', application: { ...application, ...change } }]);
}

/** Payloads of the dispatches with this name, oldest first. */
export const told = <T = Record<string, unknown>>(sink: RecordingSink, t: string): T[] =>
  sink.dispatches.filter((one) => one.t === t).map(({ d }) => d as T);

/** The platform's code of a refusal; null for what was granted. */
export const codeOf = (reply: { readonly ok: boolean } & object): number | null =>
  'refusal' in reply ? (reply.refusal as { code: number }).code : null;
