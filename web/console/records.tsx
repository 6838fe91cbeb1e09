import { EVENTS_STATUS } from '../../protocol/webhookevents.ts';
import { type Admin, text } from './admin.ts';
import { type AdminProps, code, Paged, word } from './paged.tsx';
import type { Change } from './parts.tsx';

const id = code('Id', 'id');

export const Guilds = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Guilds"
    path="/guilds"
    rows="guilds"
    columns={[id, word('Name', 'name')]}
    create={{
      title: 'Make a guild',
      says: 'Makes a guild that the owner can use at once.',
      fields: [
        { name: 'name', label: 'Name' },
        { name: 'owner_id', label: 'Id of the owner' },
      ],
      run: (fields) => admin.post('/guilds', fields),
    }}
    changes={(row) => [
      {
        title: 'Add a member',
        says: `Adds a user or bot to ${text(row.name)}.`,
        fields: [
          { name: 'user_id', label: 'Id of the user' },
          { name: 'permissions', label: 'Permissions of a role of its own, decimal', optional: true },
        ],
        run: (fields) => admin.post(`/guilds/${text(row.id)}/members`, fields),
      },
      {
        title: 'Premium tier',
        says: `Sets the premium tier of ${text(row.name)}, and with it its limits.`,
        fields: [{ name: 'premium_tier', label: 'Tier, 0 to 3' }],
        run: ({ premium_tier: tier }) =>
          admin.post(`/guilds/${text(row.id)}/premium-tier`, { premium_tier: Number(tier) }),
      },
      {
        title: 'Delete',
        says: `Deletes ${text(row.name)} with its channels and messages. Nothing brings it back.`,
        run: () => admin.post(`/guilds/${text(row.id)}/delete`, {}),
      },
    ]}
  />
);

export const People = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="People and bots"
    path="/users"
    rows="users"
    search={{ by: 'username', label: 'Username of a person' }}
    columns={[
      id,
      word('Username', 'username'),
      word('Shown name', 'global_name'),
      { title: 'Kind', cell: (row) => (row.bot === true ? 'bot' : 'person') },
    ]}
    create={{
      title: 'Make a user',
      says: 'Makes a human user and shows the token once.',
      fields: [
        { name: 'username', label: 'Username' },
        { name: 'global_name', label: 'Shown name', optional: true },
        { name: 'email', label: 'E-mail address, to sign in', optional: true },
      ],
      run: (fields) => admin.post('/users', fields),
    }}
    changes={(row) => userChanges(admin, text(row.id), text(row.username))}
  />
);

const userChanges = (admin: Admin, userId: string, name: string): readonly Change[] => [
  {
    title: 'New token',
    says: `Gives ${name} a new token, shown once, and ends all earlier ones with their sessions.`,
    run: () => admin.post('/tokens/rotate', { user_id: userId }),
  },
  {
    title: 'End tokens',
    says: `Ends all tokens of ${name}, and all sessions with them.`,
    run: () => admin.post('/tokens/revoke', { user_id: userId }),
  },
  {
    title: 'New password',
    says: `Gives ${name} a new password, shown once. Two-step sign-in is switched off, and every browser signed out.`,
    run: () => admin.post(`/users/${userId}/password`, {}),
  },
  {
    title: 'Ban',
    says: `Bans ${name} from this server until somebody takes it back. Tokens end at once.`,
    run: () => admin.post(`/users/${userId}/ban`, {}),
  },
  {
    title: 'Unban',
    says: `Lets ${name} sign in again.`,
    run: () => admin.post(`/users/${userId}/unban`, {}),
  },
];

const EVENTS: Readonly<Record<string, string>> = {
  [EVENTS_STATUS.ON]: 'on',
  [EVENTS_STATUS.DISABLED]: 'turned off after failures',
};

export const Applications = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Applications"
    path="/applications"
    rows="applications"
    columns={[
      id,
      word('Name', 'name'),
      code('Public key', 'verify_key'),
      { title: 'Owner', cell: (row) => <code>{text(row.owner_id ?? row.ownerId)}</code> },
      { title: 'Interactions', cell: (row) => text(row.interactions_endpoint_url ?? 'gateway') },
      { title: 'Events', cell: (row) => EVENTS[text(row.event_webhooks_status)] ?? 'off' },
      {
        title: 'Redirects',
        cell: (row) => (Array.isArray(row.redirect_uris) ? row.redirect_uris.length : 0),
        isNumber: true,
      },
    ]}
    create={{
      title: 'Make an application',
      says: 'Makes an application with its bot, and shows its token and secret once.',
      fields: [
        { name: 'name', label: 'Name' },
        { name: 'owner_id', label: 'Id of the owner', optional: true },
        { name: 'guild_id', label: 'Id of a guild that the bot joins', optional: true },
      ],
      run: (fields) => admin.post('/applications', fields),
    }}
    changes={(row) => [
      {
        title: 'New bot token',
        says: `Gives the bot of ${text(row.name)} a new token, shown once, and ends all earlier ones with their sessions.`,
        run: () => admin.post('/tokens/rotate', { user_id: text(row.bot_id) }),
      },
    ]}
  />
);
