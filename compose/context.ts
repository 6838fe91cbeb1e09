import type { VoiceListener } from '../actors/call/ports.ts';
import type { PublishPresence } from '../actors/cluster/delivery/presences.ts';
import type { Games } from '../actors/lobby/games.ts';
import type { AggregatePorts } from '../actors/runtime/aggregate.ports.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { GatewaySessions } from '../actors/session/sessions.ts';
import type { CommitAndNotify } from '../actors/user/notifier.ts';
import type { Accounts } from '../services/accounts/ports.ts';
import type { Identity } from '../services/identity/identity.ts';
import type { Lobbies } from '../services/lobbies/ports.ts';
import type { Matchmaking } from '../services/matchmaking/ports.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import type { Provisional } from '../services/players/ports.ts';
import type { Social } from '../services/social/ports.ts';
import type { Storage, StoredFact } from '../storage/ports.ts';
import type { createHooks } from '../transports/rest/hooks.ts';
import type { Cluster } from './cluster.ts';
import type { Foundation } from './foundation.ts';
import type { createResidents, OwnerAccess } from './owners.ts';

/** What accounts, lobbies and friends add to the engine; made in `features.ts`. */
export interface Features {
  readonly oauth: OAuth;
  readonly accounts: Accounts;
  readonly provisional: Provisional;
  readonly lobbies: Lobbies;
  readonly games: Games;
  readonly matchmaking: Matchmaking;
  readonly social: Social;
}

/** What a part is made of. `features` and `sessions` are there once the house stands: not while it is being built. */
export interface ServiceContext extends Foundation, ReturnType<typeof createResidents>, OwnerAccess {
  /** Of which this process is a shard. */
  readonly cluster: Cluster;
  readonly storage: Storage;
  readonly supervisor: Supervisor;
  readonly identity: Identity;
  /** What the shell of an aggregate needs. */
  readonly aggregate: AggregatePorts;
  readonly hooks: ReturnType<typeof createHooks>;
  /** Resolves when the facts are durable. */
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
  /** The same of what was decided here, as its owner, over what was read: not tried again elsewhere. */
  readonly commitAsOwner: ServiceContext['commit'];
  /** The same, with what people are to be told of it. */
  readonly commitAndNotify: CommitAndNotify;
  /** Tells guilds how a user of this shard appears. */
  readonly publishPresence: PublishPresence;
  /** Hears where people are in voice. */
  readonly voiceListener: () => VoiceListener;
  readonly sessions: () => GatewaySessions;
  readonly features: () => Features;
  /** Base URL of this server as clients should use it, without a slash. */
  readonly publicUrl: () => string;
}
