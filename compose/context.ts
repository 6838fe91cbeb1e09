import type { VoiceListener } from '../actors/call/ports.ts';
import type { PublishPresence } from '../actors/cluster/delivery/presences.ts';
import type { Cluster } from '../actors/cluster/shard.ts';
import type { Games } from '../actors/lobby/games.ts';
import type { AggregatePorts, Signing } from '../actors/runtime/aggregate.ports.ts';
import type { Lifetime } from '../actors/runtime/clock.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { GatewaySessions } from '../actors/session/sessions.ts';
import type { CommitAndNotify } from '../actors/user/notifier.ts';
import type { Accounts } from '../services/accounts/ports.ts';
import type { ServedActivities } from '../services/activities/running.ts';
import type { Endpoints } from '../services/applications/endpoints.ts';
import type { Teams } from '../services/applications/teams.ts';
import type { DueClock } from '../services/dueclock.ts';
import type { Integrations } from '../services/guilds/integrations.ts';
import type { Identity } from '../services/identity/identity.ts';
import type { ServedInteractions } from '../services/interactions/interactions.ts';
import type { Lobbies } from '../services/lobbies/ports.ts';
import type { Matchmaking } from '../services/matchmaking/ports.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import type { Provisional } from '../services/players/ports.ts';
import type { Catalog } from '../services/premium/catalog.ts';
import type { ServedPremium } from '../services/premium/start.ts';
import type { Store } from '../services/premium/store.ts';
import type { Social } from '../services/social/ports.ts';
import type { Crossposts } from '../services/webhooks/crossposts.ts';
import type { Blobs } from '../storage/blob/blobs.ts';
import type { Storage, StoredFact } from '../storage/ports.ts';
import type { createHooks } from '../transports/rest/hooks.ts';
import type { Foundation } from './foundation.ts';
import type { createResidents, OwnerAccess } from './owners.ts';

/** Accounts, lobbies and social features of the engine; created in `features.ts`. */
export interface Features {
  readonly oauth: OAuth;
  readonly accounts: Accounts;
  readonly provisional: Provisional;
  readonly lobbies: Lobbies;
  readonly games: Games;
  readonly matchmaking: Matchmaking;
  readonly social: Social;
  readonly endpoints: Endpoints;
  readonly crossposts: Crossposts;
  readonly eventClock: DueClock;
  readonly threadClock: DueClock;
  readonly runningActivities: ServedActivities;
  readonly interactions: ServedInteractions;
  readonly integrations: Integrations;
  readonly teams: Teams;
  readonly premium: ServedPremium;
  readonly store: Store;
  readonly catalog: Catalog;
}

/**
 * Dependencies of the services. `features` and `sessions` are available once the engine is assembled, not while it is
 * being built.
 */
export interface ServiceContext extends Foundation, ReturnType<typeof createResidents>, OwnerAccess {
  /** Ends the background work of the services; it closes after the sessions, and before the owners. */
  readonly scope: Lifetime;
  /** The cluster of this process. */
  readonly cluster: Cluster;
  readonly storage: Storage;
  readonly blobs: Blobs;
  readonly supervisor: Supervisor;
  readonly identity: Identity;
  /** Dependencies of aggregate shells. */
  readonly aggregate: AggregatePorts & Signing;
  readonly hooks: ReturnType<typeof createHooks>;
  /** Resolves when the facts are durable. */
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
  /** Commits facts that this shard decided as owner over state that it read; not retried at another shard. */
  readonly commitAsOwner: ServiceContext['commit'];
  /** Commits facts together with the dispatches that notify users of them. */
  readonly commitAndNotify: CommitAndNotify;
  /** Sends the presence of a user of this shard to guilds. */
  readonly publishPresence: PublishPresence;
  /** Receives the voice states of users. */
  readonly voiceListener: () => VoiceListener;
  readonly sessions: () => GatewaySessions;
  readonly features: () => Features;
  /** Base URL of this server for clients, without a trailing slash. */
  readonly publicUrl: () => string;
}
