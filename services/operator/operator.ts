import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Users } from '../../actors/user/users.ts';
import type { Admin, NewUser } from '../../embedding.ts';
import type { Founding } from '../../engine/account/logins.ts';
import { EMBEDDED_FLAG, mappingsRefusal } from '../../engine/application/mappings.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { mayRegister } from '../../engine/oauth/redirects.ts';
import { newApplication } from '../../engine/user/application.ts';
import type { Application } from '../../engine/user/facts.ts';
import { nameObjection, newUser } from '../../engine/user/user.ts';
import { USERNAME_TAKEN, usernameObjection, usernameOf } from '../../engine/user/usernames.ts';
import { ApiError } from '../../protocol/apierror.ts';
import { APP_COMMAND, ENTRY_POINT_HANDLER } from '../../protocol/appcommands.ts';
import type { ApplicationId, FreshId, UserId } from '../../protocol/ids.ts';
import { ALL_PRIVILEGED_FLAGS } from '../../protocol/intents.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isScope, type Scope } from '../../protocol/scopes.ts';
import type { Secret } from '../../protocol/secret.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { Accounts } from '../accounts/ports.ts';
import type { AppCommands } from '../applications/appcommands.ts';
import type { UpdateApplication } from '../applications/applications.ts';
import type { Teams } from '../applications/teams.ts';
import type { GuildFounding } from '../guilds/founding.ts';
import { makeApplicationKeys } from '../identity/applicationkeys.ts';
import type { Identity } from '../identity/identity.ts';
import type { Provisional } from '../players/ports.ts';
import type { Payments } from '../premium/payments.ts';
import { type ClockPorts, moveClock } from './clock.ts';
import { type Joining, joiningOf } from './joining.ts';
import { playersOf } from './players.ts';
import { showingOf } from './showing.ts';
import { teamsOf } from './teams.ts';

/** The platform's error for an unknown id, with the id in the message. */
const unknown = (kind: 'user' | 'application', id: string): ApiError =>
  new ApiError({
    ...refusal(kind === 'user' ? 'UNKNOWN_USER' : 'UNKNOWN_APPLICATION'),
    message: `There is no ${kind} ${id}.`,
  });

/** The value of a reply. @throws ApiError for a refusal. */
export function granted<Value>(reply: Reply<Value>): Value {
  if (reply.ok) return reply.value;
  throw new ApiError(reply.refusal);
}

/** @throws ApiError for a name with invisible characters. */
function checkVisible(name: string | null | undefined, field: string): void {
  const objection = nameObjection(name, field);
  if (objection) throw new ApiError(objection);
}

interface OperatorPorts {
  readonly storage: Storage;
  readonly identity: Identity;
  readonly clock: ClockPorts['clock'];
  readonly features: ClockPorts['features'] & {
    readonly accounts: Accounts;
    readonly provisional: Provisional;
    readonly teams: Pick<Teams, 'change'>;
    readonly premium: { readonly payments: Pick<Payments, 'run'> };
  };
  readonly guilds: Guilds;
  readonly users: Users;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  commit(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly updateApplication: UpdateApplication;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** Absent where no commands are served. */
  readonly appCommands?: Pick<AppCommands, 'write'>;
  readonly founding: GuildFounding;
  readonly routing: Routing;
}

async function accountOf(userId: UserId, { storage }: Pick<OperatorPorts, 'storage'>): Promise<APIUser> {
  const [user] = await storage.users.get([userId]);
  if (!user) throw unknown('user', userId);
  return user;
}

/** Operations on the owner shards of guilds and users. */
const ofOwners = (ports: OperatorPorts) => {
  const { identity } = ports;
  const { ask } = ports.routing;
  return {
    rotateToken: ask(
      'operator.rotateToken',
      (userId: UserId, kind: 'bot' | 'user'): Promise<Secret> => identity.rotate(userId, kind),
    ),
    revokeTokens: ask('operator.revokeTokens', (userId: UserId): Promise<void> => identity.revokeAll(userId)),
  };
};

/** The operations of the operator, over the same actors and stores as all others. */
export function createOperator(ports: OperatorPorts): Admin {
  const { storage, guilds, nextId } = ports;
  const owners = ofOwners(ports);
  const account = (userId: UserId): Promise<APIUser> => accountOf(userId, ports);
  const joining = joiningOf(guilds, granted);

  return {
    ...accounts(ports, joining),
    ...clients(ports),
    ...embedded(ports),
    ...teamsOf({ ...ports, teams: ports.features.teams, account, granted, unknown }),
    ...playersOf(ports.features.provisional, storage, granted, unknown),
    ...showingOf({
      ...{ storage, guilds, granted, unknown },
      isBanned: (userId) => ports.features.provisional.isBanned(userId),
    }),

    async createGuild({ name, ownerId }) {
      checkVisible(name, 'name');
      const ownerUser = await account(ownerId);
      return granted(await ports.founding.create(nextId(), name, ownerUser));
    },

    async setPremiumTier({ guildId, tier }) {
      granted(await guilds.call(guildId, 'setPremiumTier', { tier }, SYSTEM));
    },

    async addMember({ guildId, userId, permissions }) {
      await joining.join(guildId, await account(userId), permissions);
    },

    async acceptInvite({ code, userId }) {
      await account(userId);
      const guildId = await storage.directory.inviteGuild(code);
      if (guildId === null) throw new ApiError(refusal('UNKNOWN_INVITE'));
      const { added } = granted(await guilds.call(guildId, 'acceptInvite', { code, userId }, SYSTEM));
      return { guildId, added };
    },

    async rotateToken(userId) {
      const user = await account(userId);
      if (await ports.features.provisional.isBanned(userId))
        throw new ApiError({
          ...refusal('USER_BANNED'),
          message: `User ${userId} is banned from this server: lift the ban before you make a token.`,
        });
      const token = await owners.rotateToken(userId, user.bot ? 'bot' : 'user');
      return { token: token.reveal() };
    },

    async revokeTokens(userId) {
      await account(userId);
      await owners.revokeTokens(userId);
    },
    premium: async (applicationId, command) =>
      granted(await ports.features.premium.payments.run(applicationId, command)),
    moveClock: (byMs) => moveClock(ports, byMs),
    copyDatabase: () => storage.copyDatabase(),
    listApplications: (after, limit) => storage.applications.page(after, limit),
    listUsers: (after, limit) => storage.users.list(after, limit),
    usersNamed: (username) => storage.users.peopleNamed(username.trim()),
    listGuilds: (after, limit) => storage.directory.guilds(after, limit),
  };
}

/**
 * Makes an application as confidential as the others of its publisher, which sign in with each other's tokens: a child
 * becomes what its parent is, and a parent changes its children. The children change first, so that repeating the call
 * completes what a crash interrupted.
 */
async function alignFamily(
  applicationId: ApplicationId,
  publicClient: boolean,
  { storage: { identities, applications }, updateApplication }: OperatorPorts,
): Promise<void> {
  const parentId = await identities.parentOf(applicationId);
  const parent = parentId && (await applications.get(parentId));
  if (parent && publicClient !== (parent.oauth2?.publicClient ?? false)) {
    const wrong = `Must be as its parent ${parent.id}, with which it changes.`;
    throw new ApiError(invalidField(['public_client'], 'PARENT_APPLICATION_INVALID', wrong));
  }
  for (const childId of await identities.childrenOf(applicationId)) {
    const { approvedScopes = [], ...others } = (await applications.get(childId))?.oauth2 ?? {};
    granted(await updateApplication(childId, { oauth2: { ...others, publicClient, approvedScopes } }));
  }
}

/** Configures applications as OAuth2 clients. */
const clients = (ports: OperatorPorts): Pick<Admin, 'configureClient'> => ({
  async configureClient({ applicationId, redirectUris, publicClient, approvedScopes, rpcOrigins }) {
    const wrong = clientRefusal(redirectUris ?? [], approvedScopes ?? [], rpcOrigins ?? []);
    if (wrong) throw new ApiError(wrong);
    const application = await ports.storage.applications.get(applicationId);
    const before: NonNullable<Application['oauth2']> = application?.oauth2 ?? {
      publicClient: false,
      approvedScopes: [],
    };
    const oauth2 = {
      ...before,
      publicClient: publicClient ?? before.publicClient,
      approvedScopes: (approvedScopes as readonly Scope[] | undefined) ?? before.approvedScopes,
      ...(rpcOrigins && { rpcOrigins: [...new Set(rpcOrigins)] }),
    };
    if (oauth2.publicClient !== before.publicClient)
      await alignFamily(applicationId, oauth2.publicClient, ports);
    const redirects = redirectUris && { redirect_uris: [...new Set(redirectUris)] };
    return granted(await ports.updateApplication(applicationId, { ...redirects, oauth2 }));
  },
});

/** Configures the activities of applications. An application with an activity has a command that launches it. */
const embedded = (ports: OperatorPorts): Pick<Admin, 'configureActivity'> => ({
  async configureActivity({ applicationId, urlMappings }) {
    const wrong = mappingsRefusal(urlMappings);
    if (wrong) throw new ApiError(wrong);
    const before = await ports.storage.applications.get(applicationId);
    if (!before) throw unknown('application', applicationId);
    const isOn = urlMappings.length > 0;
    const flags = isOn ? before.flags | EMBEDDED_FLAG : before.flags & ~EMBEDDED_FLAG;
    const change = { flags, activity: { urlMappings: [...urlMappings] } };
    const application = granted(await ports.updateApplication(applicationId, change));
    const commands = await ports.storage.appCommands.list(applicationId, null);
    const launches = commands.some(({ type }) => type === APP_COMMAND.PRIMARY_ENTRY_POINT);
    if (isOn && !launches && ports.appCommands)
      granted(await ports.appCommands.write(applicationId, null, LAUNCH));
    return application;
  },
});

/** @source https://docs.discord.com/developers/interactions/application-commands#default-entry-point-command */
const LAUNCH = {
  ...{ name: 'launch', description: '', type: APP_COMMAND.PRIMARY_ENTRY_POINT },
  handler: ENTRY_POINT_HANDLER.LAUNCH_ACTIVITY,
};

/** Most redirects of one application. Our bound. */
const REDIRECTS_MAX = 50;

/** Why a client cannot be configured so; null when it can. */
function clientRefusal(
  redirectUris: readonly string[],
  scopes: readonly string[],
  origins: readonly string[],
): Refusal | null {
  const max = `Must be ${REDIRECTS_MAX} or fewer in length.`;
  if (redirectUris.length > REDIRECTS_MAX)
    return invalidField(['redirect_uris'], 'BASE_TYPE_MAX_LENGTH', max);
  const badUri = redirectUris.findIndex((uri) => !mayRegister(uri));
  if (badUri >= 0)
    return invalidField(
      ['redirect_uris', badUri],
      'REDIRECT_URI_INVALID',
      'Not a URI that may be redirected to.',
    );
  const badScope = scopes.findIndex((name) => !isScope(name));
  if (badScope >= 0)
    return invalidField(['approved_scopes', badScope], 'SCOPE_UNKNOWN', 'There is no such scope.');
  const badOrigin = origins.findIndex((origin) => !isWebOrigin(origin));
  if (badOrigin >= 0)
    return invalidField(
      ['rpc_origins', badOrigin],
      'ORIGIN_INVALID',
      'Not an origin such as https://example.org.',
    );
  return null;
}

const isWebOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Creates a user who can sign in, with a token, in one commit. */
async function createPerson(
  form: Founding,
  { identity, features, storage, nextId }: OperatorPorts,
): Promise<{ user: APIUser; token: string }> {
  const userId = nextId();
  const { token, fact } = identity.prepare(userId, 'user');
  granted(await features.accounts.create(form, { userId, facts: [fact] }));
  identity.forget(userId);
  const [user] = await storage.users.get([userId]);
  return { user: user!, token: token.reveal() };
}

const PASSWORD_BYTES = 15;
const randomPassword = (randomBytes: OperatorPorts['randomBytes']): string =>
  Buffer.from(randomBytes(PASSWORD_BYTES)).toString('base64url');

/** Creates applications and users, each with a token, in one commit. */
function accounts(
  ports: OperatorPorts,
  joining: Joining,
): Pick<Admin, 'createApplication' | 'createUser' | 'setPassword'> {
  const { identity, nextId, features } = ports;
  return {
    async setPassword({ userId, password = randomPassword(ports.randomBytes) }) {
      await accountOf(userId, ports);
      granted(await features.accounts.setPassword(userId, password));
      const profile = await features.accounts.profile(userId);
      return { loginName: profile?.loginName ?? '', password };
    },

    async createApplication({ name, ownerId, flags, guildId, permissions }) {
      checkVisible(name, 'name');
      if (ownerId !== undefined) await accountOf(ownerId, ports);
      const join = await joining.prepare(guildId, name, permissions);
      const id = nextId();
      const botId: UserId = id;
      const keys = makeApplicationKeys(ports.randomBytes);
      const bot = newUser({ id: botId, username: name, globalName: null, bot: true });
      const application = newApplication(id, botId, {
        name,
        ownerId: ownerId ?? botId,
        flags: flags ?? ALL_PRIVILEGED_FLAGS,
        verifyKey: keys.verifyKey,
      });
      const { token, fact } = identity.prepare(botId, 'bot');
      await ports.commit(id, [
        { type: 'userCreated', user: bot },
        {
          type: 'applicationCreated',
          application,
          signingKey: keys.signingKey,
          clientSecretHash: keys.clientSecretHash,
        },
        fact,
      ]);
      identity.forget(botId);
      await join(botId);
      return { application, bot, botToken: token.reveal(), clientSecret: keys.clientSecret.reveal() };
    },

    async createUser({ guildId, ...form }) {
      checkVisible(form.username, 'username');
      checkVisible(form.globalName, 'global_name');
      const join = await joining.prepare(guildId, form.username);
      const { password = null, email = null, globalName = null } = form;
      const made =
        password === null && email === null
          ? await createTokenUser(form, ports)
          : await createPerson({ username: form.username, globalName, password, email }, ports);
      await join(made.user.id);
      return made;
    },
  };
}

/** Creates a user with a token who cannot sign in. */
async function createTokenUser(
  { username: given, globalName }: Pick<NewUser, 'username' | 'globalName'>,
  { identity, nextId, storage: { users }, commit }: OperatorPorts,
): Promise<{ user: APIUser; token: string }> {
  const username = usernameOf(given);
  const objection = usernameObjection(username);
  if (objection) throw new ApiError(objection);
  const id = nextId();
  const user = newUser({ id, username, globalName: globalName ?? null, bot: false });
  const { token, fact } = identity.prepare(id, 'user');
  const isTaken = () => users.usernameTaken(username, id);
  if (await isTaken()) throw new ApiError(USERNAME_TAKEN);
  try {
    await commit(id, [{ type: 'userCreated', user }, fact]);
  } catch (fault) {
    // Another user has taken the name meanwhile, and the database rejected this one.
    throw (await isTaken()) ? new ApiError(USERNAME_TAKEN) : fault;
  }
  identity.forget(id);
  return { user, token: token.reveal() };
}
