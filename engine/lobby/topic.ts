import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { WebhookEventFact } from '../application/webhookevents.ts';
import type { SessionRef } from '../fanout/direct.ts';
import type { Commands, Env, Topic } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import type { LobbyFact, LobbyFacts } from './facts.ts';
import type { LobbyState } from './lobby.ts';

/** A lobby's own facts, and webhook events for its application. */
export type LobbyOutcomeFact = LobbyFact | WebhookEventFact;

/** A dispatch and its sessions; the DISPATCH table removes those that may not receive it. */
export interface LobbyDispatch {
  readonly t: DispatchName;
  readonly d: object;
  readonly to: Iterable<SessionRef>;
}

export interface LobbyShape {
  readonly state: LobbyState;
  readonly facts: LobbyFacts & { webhookEventQueued: Omit<WebhookEventFact, 'type'> };
  readonly needs: Needs;
  readonly dispatch: LobbyDispatch;
  readonly env: LobbyEnv;
  /**
   * True: only the server itself may call it. Absent: callers of the lobby's application, within the command's own
   * rule.
   */
  readonly row: { readonly server?: true };
}

export interface LobbyEnv extends Env {
  /**
   * Members who may have sessions that are not attached, by user id, with the end of that time (Unix ms). The actor
   * addresses dispatches to them too. Absent or empty in standalone mode.
   */
  readonly unattached?: ReadonlyMap<UserId, number>;
  /** Unattached members who were sent dispatches that no record has. They are lost if the owner of the user had no session yet. */
  readonly missing?: ReadonlySet<UserId>;
  /** When the last dispatch that is in no record was sent, Unix milliseconds. */
  readonly unrecordedMs?: number;
}

/** One topic of the lobby: the commands `C`, and the facts named `K`. */
export type LobbyTopic<C extends Commands, K extends keyof LobbyShape['facts']> = Topic<LobbyShape, C, K>;
