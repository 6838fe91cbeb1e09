import { Type } from 'typebox';
import { type FreshId, type GuildId, isAnyId, type UserId } from '../../protocol/ids.ts';
import { callPage } from './calls.ts';
import { chaosRoutes } from './chaos.ts';
import { inspectionRoutes } from './inspection.ts';
import { interactionRoute } from './interactions.ts';
import { pageOf } from './page.ts';
import { playerRoutes } from './players.ts';
import { premiumRoutes } from './premium.ts';
import { AdminError, type AdminRoute, closed, get, NO_ID, post, record, Snowflake } from './route.ts';
import { teamRoutes } from './teams.ts';

const Name = Type.String({ minLength: 1, maxLength: 100 });
const Permissions = Type.String({ pattern: '^[0-9]{1,20}$' });
const PremiumTier = Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2), Type.Literal(3)]);

/** Ten years. */
const FORWARD_MS_MAX = 3_660 * 86_400_000;
/** All operations of the admin API. They call the engine's admin interface and contain no rules. */
export const ADMIN_ROUTES: readonly AdminRoute[] = [
  interactionRoute,
  post(
    '/applications',
    Type.Object(
      {
        name: Name,
        owner_id: Type.Optional(Snowflake<UserId>()),
        flags: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
        guild_id: Type.Optional(Snowflake<GuildId>()),
        permissions: Type.Optional(Permissions),
      },
      closed,
    ),
    async (admin, { name, owner_id, flags, guild_id, permissions }) => {
      const made = await admin.createApplication({
        name,
        ...(owner_id === undefined ? {} : { ownerId: owner_id }),
        ...(flags === undefined ? {} : { flags }),
        ...(guild_id === undefined ? {} : { guildId: guild_id }),
        ...(permissions === undefined ? {} : { permissions: BigInt(permissions) }),
      });
      const { application, bot, botToken, clientSecret } = made;
      return {
        status: 201,
        body: { application, client_secret: clientSecret, bot: { ...bot, token: botToken } },
      };
    },
  ),
  post(
    '/applications/:id/oauth2',
    Type.Object(
      {
        redirect_uris: Type.Optional(Type.Array(Type.String({ maxLength: 2048 }), { maxItems: 50 })),
        public_client: Type.Optional(Type.Boolean()),
        approved_scopes: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
        rpc_origins: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 32 })),
      },
      closed,
    ),
    async (admin, given, id) => {
      const application = await admin.configureClient({
        applicationId: id,
        ...(given.redirect_uris && { redirectUris: given.redirect_uris }),
        ...(given.public_client !== undefined && { publicClient: given.public_client }),
        ...(given.approved_scopes && { approvedScopes: given.approved_scopes }),
        ...(given.rpc_origins && { rpcOrigins: given.rpc_origins }),
      });
      return { status: 200, body: { application } };
    },
  ),
  post(
    '/applications/:id/activity',
    Type.Object(
      {
        url_mappings: Type.Array(
          Type.Object(
            { prefix: Type.String({ maxLength: 256 }), target: Type.String({ maxLength: 512 }) },
            closed,
          ),
          { maxItems: 100 },
        ),
      },
      closed,
    ),
    async (admin, { url_mappings }, id) => {
      const application = await admin.configureActivity({ applicationId: id, urlMappings: url_mappings });
      return { status: 200, body: { application } };
    },
  ),
  record('/applications/:id', (admin, id) => admin.showApplication(id)),
  record('/users/:id', async (admin, id) => {
    const { guildIds, ...shown } = await admin.showUser(id);
    return { ...shown, guild_ids: guildIds };
  }),
  record('/guilds/:id', (admin, id) => admin.showGuild(id)),
  post('/guilds/:id/delete', Type.Object({}, closed), async (admin, _, id) => {
    await admin.deleteGuild(id);
    return { status: 204 };
  }),
  get('/applications', async ({ admin }, query) => {
    const { after, limit } = pageOf(query);
    return { applications: await admin.listApplications(after, limit) };
  }),
  post(
    '/users',
    Type.Object(
      {
        username: Name,
        global_name: Type.Optional(Name),
        password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
        email: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
        guild_id: Type.Optional(Snowflake<GuildId>()),
      },
      closed,
    ),
    async (admin, { global_name, guild_id, ...given }) => {
      const made = await admin.createUser({
        ...given,
        ...(global_name === undefined ? {} : { globalName: global_name }),
        ...(guild_id === undefined ? {} : { guildId: guild_id }),
      });
      return { status: 201, body: { user: made.user, token: made.token } };
    },
  ),
  post(
    '/users/:id/password',
    Type.Object({ password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })) }, closed),
    async (admin, given, id) => {
      const { loginName, password } = await admin.setPassword({ userId: id, ...given });
      return { status: 200, body: { user_id: id, login: loginName, password } };
    },
  ),
  get('/users', async ({ admin }, query) => {
    const username = query.get('username');
    if (username !== null) return { users: await admin.usersNamed(username) };
    const { after, limit } = pageOf(query);
    return { users: await admin.listUsers(after, limit) };
  }),
  post(
    '/guilds',
    Type.Object({ name: Name, owner_id: Snowflake<UserId>() }, closed),
    async (admin, { name, owner_id }) => {
      const guild = await admin.createGuild({ name, ownerId: owner_id });
      return { status: 201, body: { guild } };
    },
  ),
  get('/guilds', async ({ admin }, query) => {
    const { after, limit } = pageOf(query);
    return { guilds: await admin.listGuilds(after, limit) };
  }),
  post(
    '/guilds/:id/premium-tier',
    Type.Object({ premium_tier: PremiumTier }, closed),
    async (admin, { premium_tier: tier }, id) => {
      await admin.setPremiumTier({ guildId: id, tier });
      return { status: 204 };
    },
  ),
  post(
    '/guilds/:id/members',
    Type.Object({ user_id: Snowflake<UserId>(), permissions: Type.Optional(Permissions) }, closed),
    async (admin, { user_id, permissions }, id) => {
      await admin.addMember({
        guildId: id,
        userId: user_id,
        ...(permissions === undefined ? {} : { permissions: BigInt(permissions) }),
      });
      return { status: 204 };
    },
  ),
  post(
    '/tokens/rotate',
    Type.Object({ user_id: Snowflake<UserId>() }, closed),
    async (admin, { user_id }) => {
      const { token } = await admin.rotateToken(user_id);
      return { status: 200, body: { user_id, token } };
    },
  ),
  post(
    '/tokens/revoke',
    Type.Object({ user_id: Snowflake<UserId>() }, closed),
    async (admin, { user_id }) => {
      await admin.revokeTokens(user_id);
      return { status: 204 };
    },
  ),
  post('/database/copy', Type.Object({}, closed), async (admin) => {
    const directory = await admin.copyDatabase().catch((error: Error) => {
      if (error.name !== 'StorageFault') throw error;
      throw new AdminError(409, 'not_copied', error.message);
    });
    if (directory !== null) return { status: 201, body: { directory } };
    const message = 'Only an embedded database in a data directory is copied; back PostgreSQL up directly.';
    throw new AdminError(409, 'not_embedded', message);
  }),
  ...playerRoutes,
  ...premiumRoutes,
  ...teamRoutes,
  post(
    '/clock',
    Type.Object({ forward_ms: Type.Integer({ minimum: 1, maximum: FORWARD_MS_MAX }) }, closed),
    async (admin, { forward_ms }) => {
      const { nowMs } = await admin.moveClock(forward_ms);
      return { status: 200, body: { now: new Date(nowMs).toISOString() } };
    },
  ),
  ...inspectionRoutes,
  ...chaosRoutes,
  get('/cluster', async ({ cluster }) => cluster.status()),
  get('/calls', async (engine, query) => {
    const { after, limit } = pageOf(query);
    return callPage(engine, after, limit);
  }),
];

interface RouteMatch {
  readonly route: AdminRoute;
  readonly id: FreshId;
}

/** The route of a method and path, or the allowed methods of the path (empty if the path is unknown). */
export function findRoute(method: string, path: string): RouteMatch | { readonly methods: string[] } {
  const methods: string[] = [];
  for (const route of ADMIN_ROUTES) {
    const id = match(route.path, path);
    if (id === null) continue;
    if (route.method === method) return { route, id };
    methods.push(route.method);
  }
  return { methods };
}

/** The `:id` of a path that matches the pattern, `NO_ID` for a pattern without one; null when it does not match. */
function match(pattern: string, path: string): FreshId | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  let id = NO_ID;
  for (const [index, part] of given.entries()) {
    if (wanted[index] === ':id' && isAnyId(part)) id = part;
    else if (wanted[index] !== part) return null;
  }
  return id;
}
