/**
 * OAuth2 scopes: the text of each on the consent page, and the scopes that it implies. Scopes that the platform grants
 * only to partners are granted to applications that the operator has approved for them.
 *
 * @source https://docs.discord.com/developers/topics/oauth2#shared-resources-oauth2-scopes;
 * https://docs.discord.food/topics/oauth2#umbrella-oauth2-scopes for what the scopes of the SDK bring along
 */
export interface ScopeRow {
  /** The permission as described on the consent page. */
  readonly words: string;
  /** Scopes that are granted with it. */
  readonly implies?: readonly string[];
  /** Only approved applications may request it. */
  readonly approval?: true;
  /** Granted only by the client credentials grant. */
  readonly clientCredentialsOnly?: true;
}

const PRESENCE_SCOPES = [
  'activities.invites.write',
  'activities.read',
  'activities.write',
  'application_identities.write',
  'gateway.connect',
  'identify',
  'relationships.read',
  'relationships.write',
] as const;

const COMMUNICATION_SCOPES = [
  ...PRESENCE_SCOPES,
  'dm_channels.read',
  'dm_channels.messages.read',
  'dm_channels.messages.write',
  'guilds',
  'guilds.channels.read',
  'lobbies.write',
] as const;

export const SCOPES = {
  'account.global_name.update': { words: 'change your display name' },
  'activities.invites.write': { words: 'send invites to play' },
  'activities.read': { words: 'see what you and your friends are playing' },
  'activities.write': { words: 'show what you are playing' },
  'application_identities.write': { words: 'say who you are in the game' },
  'applications.builds.read': { words: 'read build data of your applications' },
  'applications.builds.upload': { words: 'upload builds of your applications', approval: true },
  'applications.commands': { words: 'add commands' },
  'applications.commands.permissions.update': { words: 'change who may use its commands' },
  'applications.commands.update': { words: 'change its own commands', clientCredentialsOnly: true },
  'applications.entitlements': { words: 'read what you own in your applications' },
  'applications.store.update': { words: 'change the store data of your applications' },
  bot: { words: 'add its bot to a server' },
  connections: { words: 'see accounts you have connected' },
  'dm_channels.read': { words: 'see your direct message channels' },
  'dm_channels.messages.read': { words: 'read your direct messages' },
  'dm_channels.messages.write': { words: 'send direct messages for you' },
  email: { words: 'see your e-mail address' },
  'gateway.connect': { words: 'receive what happens as it happens' },
  'gdm.join': { words: 'add you to group messages' },
  guilds: { words: 'see which servers you are in' },
  'guilds.channels.read': { words: 'see the channels of your servers' },
  'guilds.join': { words: 'add you to servers' },
  'guilds.members.read': { words: 'see your nickname and roles in servers' },
  identify: { words: 'see your name and picture' },
  'identify.premium': { words: 'see whether you are a subscriber', approval: true },
  'lobbies.write': { words: 'bring you into lobbies and talk there for you' },
  'messages.read': { words: 'read messages in your client' },
  openid: { words: 'sign you in' },
  'payment_sources.country_code': { words: 'see the country you pay from' },
  'presences.read': { words: 'see who is online' },
  'presences.write': { words: 'change your status' },
  'relationships.read': { words: 'see your friends' },
  'relationships.write': { words: 'add and remove friends for you' },
  'role_connections.write': { words: 'update your linked roles' },
  rpc: { words: 'control your client', approval: true },
  'rpc.activities.write': { words: 'show what you are playing in your client', approval: true },
  'rpc.notifications.read': { words: 'read notifications of your client', approval: true },
  'rpc.screenshare.read': { words: 'see whether you share your screen', approval: true },
  'rpc.screenshare.write': { words: 'share your screen', approval: true },
  'rpc.video.read': { words: 'see whether your camera is on', approval: true },
  'rpc.video.write': { words: 'switch your camera', approval: true },
  'rpc.voice.read': { words: 'read the voice settings of your client', approval: true },
  'rpc.voice.write': { words: 'change the voice settings of your client', approval: true },
  'sdk.social_layer': { words: 'let you talk and play with friends', implies: COMMUNICATION_SCOPES },
  'sdk.social_layer_presence': { words: 'let you play with friends', implies: PRESENCE_SCOPES },
  voice: { words: 'join voice for you', implies: ['gateway.connect'], approval: true },
  'webhook.incoming': { words: 'create a webhook in a channel' },
} as const satisfies Record<string, ScopeRow>;

export type Scope = keyof typeof SCOPES;
export type Scopes = ReadonlySet<Scope>;

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);
export const scopeRow = (name: Scope): ScopeRow => SCOPES[name];

/** The given scopes and those that they imply. */
export function expandScopes(scopes: Iterable<Scope>): Set<Scope> {
  const all = new Set<Scope>();
  for (const scope of scopes) {
    all.add(scope);
    for (const implied of scopeRow(scope).implies ?? []) all.add(implied as Scope);
  }
  return all;
}
