import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { By } from '../kernel/authority.ts';
import { RELATION, type StoredRelation } from './facts.ts';
import { hasBlocked } from './relationships.ts';

/**
 * The access to the peer that a command of a private channel needs:
 * - `nothing`: the command reads, withdraws or ends something of the caller's own;
 * - `writing`: the peer receives something that the caller has made;
 * - `reacting`: like `writing`, with the platform's own refusal for reactions;
 * - `staying`: the command continues what was allowed when it began, so only a block ends it;
 * - `ringing`: the command demands attention, which only friends may do.
 */
export type Asks = 'nothing' | 'writing' | 'reacting' | 'staying' | 'ringing';

/** The column of a private channel's commands that names the access each needs. */
export interface AsksColumn<State> {
  readonly asks: Asks | ((state: State, input: object, by: By) => Asks);
}

/** The two users and the state that their private channel's owner holds of them. */
export interface Between {
  readonly from: Pick<APIUser, 'id' | 'bot'>;
  readonly to: Pick<APIUser, 'id' | 'bot' | 'system'>;
  /** Both sides of every relationship between the two; null until read. */
  readonly relations: readonly StoredRelation[] | null;
  /** `to` has written to `from` before. */
  readonly replied: boolean;
  /** At least one of the two has written before. */
  readonly begun: boolean;
}

/** The application through which a user acts. */
export interface Through {
  /** Null for the user's own client. */
  readonly applicationId: ApplicationId | null;
  /** Both users have a session of that application now. */
  readonly together: boolean;
}

/** Facts from the database about two users who may be strangers. */
export interface Acquaintance {
  /** Contact policy of `to`: the user's choice, or the server's default. */
  readonly policy: ContactPolicy;
  readonly sharesGuild: boolean;
  /** One of the two is a bot and the other has installed its application. */
  readonly isInstalled: boolean;
}

/** A null `policy` becomes the server's default. */
export const withDefaultPolicy = (
  found: Omit<Acquaintance, 'policy'> & { readonly policy: ContactPolicy | null },
  contactPolicy: ContactPolicy,
): Acquaintance => ({ ...found, policy: found.policy ?? contactPolicy });

/** Rows that must be read before the rule can decide. */
export type Unread = 'relations' | 'acquaintance';

const allowed = null;
const NOT_REACHED = refusal('CANNOT_SEND_TO_THIS_USER');
const STRANGER = refusal('NO_MUTUAL_GUILDS');

/** True when at least one of the two blocks the other. */
export const isBlocked = (relations: readonly StoredRelation[]): boolean =>
  relations.some(({ userId }) => hasBlocked(relations, userId));

/** Friends on the platform, or in this application. */
export const areFriends = (
  relations: readonly StoredRelation[],
  userId: string,
  applicationId: ApplicationId | null,
): boolean =>
  relations.some(
    (one) =>
      one.userId === userId &&
      one.type === RELATION.FRIEND &&
      (one.applicationId === null || one.applicationId === applicationId),
  );

/**
 * The one rule for private contact: every command of a private channel passes it at the channel's owner.
 *
 * @returns Null when allowed, else a refusal; `relations` or `acquaintance` when these must be read first.
 */
export function mayReach(
  asks: Asks,
  between: Between,
  through: Through,
  known: Acquaintance | null,
): Refusal | Unread | null {
  if (asks === 'nothing') return allowed;
  const { from, to, relations, replied } = between;
  // No person reads messages to the server's own account.
  if (to.system) return NOT_REACHED;
  if (!relations) return 'relations';
  if (isBlocked(relations)) return asks === 'reacting' ? refusal('REACTION_BLOCKED') : NOT_REACHED;
  if (asks === 'staying') return allowed;
  if (asks === 'ringing') return areFriends(relations, from.id, null) ? allowed : NOT_REACHED;
  const isGame = !from.bot && through.applicationId !== null;
  const friends = areFriends(relations, from.id, through.applicationId);
  if (replied && !from.bot && (!isGame || friends)) return allowed;
  if (!known) return 'acquaintance';
  if (from.bot || to.bot) return betweenPersonAndBot(between, known);
  if (friends) return known.policy === 'replied' ? NOT_REACHED : allowed;
  return isGame ? inGame(between, through, known) : toStranger(known);
}

const isOpen = ({ policy }: Acquaintance): boolean => policy === 'everyone' || policy === 'shared_guild';

/** Bots have no friends: they need a guild shared with the person, or an installation by the person. */
function betweenPersonAndBot({ to, replied }: Between, known: Acquaintance): Refusal | null {
  const { sharesGuild, isInstalled, policy } = known;
  if (!sharesGuild && !isInstalled && !(to.bot && policy === 'everyone')) return STRANGER;
  return to.bot || isInstalled || replied || isOpen(known) ? allowed : NOT_REACHED;
}

/**
 * A game may write for a user to players of the same game, and may continue a conversation between users who share a
 * guild.
 *
 * @source https://docs.discord.food/resources/message#create-dm-message
 */
function inGame({ replied, begun }: Between, { together }: Through, known: Acquaintance): Refusal | null {
  if (!isOpen(known) && !replied) return NOT_REACHED;
  return together || (known.sharesGuild && begun) ? allowed : STRANGER;
}

function toStranger(known: Acquaintance): Refusal | null {
  if (!isOpen(known)) return NOT_REACHED;
  return known.policy === 'everyone' || known.sharesGuild ? allowed : STRANGER;
}
