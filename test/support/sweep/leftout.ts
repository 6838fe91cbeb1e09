const ENTITLEMENTS = 'called in test/e2e/entitlements.test.ts';
const OWNER = 'only the owner of a guild may, and a bot owns none';
const PERSON = 'needs the access token of a person';
const NO_GUILDS = 'bots may not create guilds';
const FEATURE = 'needs a feature of the guild';

/** Methods that ask the server for something and are not called by the sweep, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'ApplicationCommandPermissionsManager.add': PERSON,
  'ApplicationCommandPermissionsManager.has': 'asks what `fetch` asks',
  'ApplicationCommandPermissionsManager.remove': PERSON,
  'ApplicationCommandPermissionsManager.set': PERSON,
  'ClientApplication.fetchActivityInstance': 'needs a running activity',
  'EntitlementManager.consume': ENTITLEMENTS,
  'EntitlementManager.createTest': ENTITLEMENTS,
  'EntitlementManager.deleteTest': ENTITLEMENTS,
  'EntitlementManager.fetch': ENTITLEMENTS,
  'Guild.delete': OWNER,
  'Guild.fetchVanityData': FEATURE,
  'Guild.leave': 'called in test/e2e/core.test.ts',
  'Guild.setBanner': FEATURE,
  'Guild.setDiscoverySplash': FEATURE,
  'Guild.setMFALevel': OWNER,
  'Guild.setOwner': OWNER,
  'Guild.setSplash': FEATURE,
  'GuildManager.create': NO_GUILDS,
  'GuildMemberManager.add': PERSON,
  'GuildTemplate.createGuild': NO_GUILDS,
  'SubscriptionManager.fetch': ENTITLEMENTS,
};

/** Classes of the library's own processes and connections: they send no request. */
export const WITHOUT_REQUESTS: ReadonlySet<string> = new Set([
  ...['ShardingManager', 'WebSocketManager', 'ClientVoiceManager'],
]);

/** Names of methods that look into the cache or compute. */
export const WITHOUT_REQUEST: ReadonlySet<string> = new Set([
  ...['resolve', 'resolveId', 'resolveIdentifier', 'valueOf', 'toJSON', 'toString', 'equals', 'clone'],
  ...['commandPath', 'permissionsPath', 'dmChannel', 'comparePositions', 'botRoleFor', 'generateInvite'],
  // Private: called by create and edit, and by fetchActiveThreads.
  ...['upsert', 'rawFetchGuildActiveThreads'],
  ...['widgetImageURL', 'discoverySplashURL', 'isReady', 'login', 'destroy'],
]);
