import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import {
  answerDueMs,
  changeOf,
  type Interaction,
  type InteractionFact,
  wasChanged,
} from '../../engine/interaction/interaction.ts';
import {
  type InteractionPayload,
  interactionObject,
  legacyOf,
  metadataOf,
} from '../../engine/interaction/object.ts';
import { idIn } from '../../engine/interaction/resolved.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { UserId } from '../../protocol/ids.ts';
import { CALLBACK, FAILURE, type FailureReason, INTERACTION } from '../../protocol/interactions.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Answering } from './answering.ts';
import { type DeliveryPorts, deliver } from './delivery.ts';
import { type CommitToInvoker, type InvokerDispatch, success } from './invoker.ts';
import { type InvokingPorts, type Prepared, prepare } from './invoking.ts';
import type { InvokableApplication, Lookups } from './lookups.ts';
import type { OpenInteractions } from './open.ts';
import type { Places } from './places.ts';
import type { Begun, Callback, CallbackResult, Invocation, ReceiveAnswer } from './ports.ts';
import type { InteractionTokens } from './tokens.ts';

/** Answers at the shard that owns the interaction now: others may own it since it was sent to its application. */
export type AnswerAtOwner = (
  ownerId: string,
  id: string,
  callback: Callback,
) => Promise<Reply<CallbackResult>>;

interface OwnerPorts {
  readonly invoking: InvokingPorts;
  readonly delivery: DeliveryPorts;
  readonly receive: ReceiveAnswer;
  /** The largest file, in bytes, that the user and the application's answers may bring in a guild of this premium tier. */
  fileBytesMax(tier: number, userId: UserId): Promise<number>;
  readonly answering: Answering;
  readonly answerAtOwner: AnswerAtOwner;
  readonly places: Pick<Places, 'find'>;
  readonly open: OpenInteractions;
  readonly lookups: Pick<Lookups, 'application' | 'entitlements'>;
  readonly tokens: () => Promise<InteractionTokens>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timers. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nextId: () => string;
  readonly nowMs: () => number;
  readonly commit: CommitToInvoker;
  /** Sends dispatches about an interaction that is not stored. */
  notifyInvoker(interaction: Interaction, dispatches: readonly InvokerDispatch[]): void;
  readonly onFault: (error: unknown) => void;
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_INTERACTION') };
const REPEATED: Reply<Begun> = { ok: true, value: 'repeated' };
const UNKNOWN_APPLICATION: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };

/** Runs the beginning of an interaction once everything is known that may have begun before. */
type Attempt = (begin: () => Promise<Reply<Begun>>) => Promise<Reply<Begun>>;

/** Slightly after the deadline, so that an answer that arrives at the deadline is decided first. */
const GRACE_MS = 20;
/** How soon the end of an interaction that could not be stored is tried again. */
const AGAIN_MS = 1_000;
/** Time for sessions to resume after a crash before INTERACTION_FAILURE is sent. */
const RETURN_MS = 3_000;

/** Interactions that this shard owns: their beginning, their first answer and their deadline. */
export class InteractionOwner {
  readonly #ports: OwnerPorts;
  readonly #mutex = keyedMutex<string>();
  /** The owner id of each interaction with a request under way, until others own it: one request of each is. */
  readonly #underWay = new Map<string, string>();
  /** Interactions on their way to an application, or back from its URL. */
  readonly #deliveries = new Set<Promise<void>>();
  /** The deadlines of interactions that wait for their first answer. */
  readonly #deadlines = new Map<string, { readonly ownerId: string; readonly timer: Timer }>();

  constructor(ports: OwnerPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#cancel());
  }

  /** Interactions that wait for their first answer. */
  get waiting(): number {
    return this.#deadlines.size;
  }

  /** Resolves when those that are on their way now are answered, wherever they are owned, or have failed. */
  async idle(): Promise<void> {
    await Promise.all(this.#deliveries);
  }

  /** Others own these now: they have the deadlines. */
  forgetMoved(moved: (ownerId: string) => boolean): void {
    this.#ports.open.forgetMoved(moved);
    for (const [id, { ownerId }] of this.#deadlines) if (moved(ownerId)) this.#settle(id);
    for (const [id, ownerId] of this.#underWay) if (moved(ownerId)) this.#underWay.delete(id);
  }

  /**
   * Call it between two steps of a request when the second relies on the first: another owner may have undone the first.
   *
   * @throws NotServed when another shard has owned the interaction since the request began.
   */
  checkOwned({ id }: Pick<Interaction, 'id'>): void {
    if (!this.#underWay.has(id)) throw new NotServed('The interaction has moved while it was answered.');
  }

  /**
   * Begins an interaction and sends it to its application. `attempt` surrounds the beginning; the next invocation with the
   * same nonce follows when it has ended.
   */
  async invoke(invocation: Invocation, attempt: Attempt): Promise<Reply<Begun>> {
    const { invoking, open, lookups } = this.#ports;
    const { userId, nonce } = invocation;
    if (open.isRepeated(invocation)) return REPEATED;
    const application = await lookups.application(invocation.applicationId);
    if (!application) return UNKNOWN_APPLICATION;
    // One user's invocations with the same nonce run one after another, so that the second finds the first.
    const begin = async (): Promise<Reply<Begun>> => {
      if (open.isRepeated(invocation)) return REPEATED;
      const prepared = await prepare(invoking, invocation, application);
      if (!prepared.ok) return prepared;
      await this.#begin(invocation, application, prepared.value);
      return { ok: true, value: 'begun' };
    };
    const once = (): Promise<Reply<Begun>> => this.#submitting(invocation, begin);
    return nonce === null ? attempt(once) : this.#mutex(`${userId} ${nonce}`, () => attempt(once));
  }

  /**
   * Begins the submission of a form after what else happens to the interaction that opened it: of several submissions the
   * first one counts, and it overwrites nothing that was written meanwhile.
   */
  #submitting({ type, data }: Invocation, begin: () => Promise<Reply<Begun>>): Promise<Reply<Begun>> {
    const id = idIn(data.id);
    if (type !== INTERACTION.MODAL_SUBMIT || !id) return begin();
    return this.#mutex(id, async () => {
      try {
        return await begin();
      } catch (error) {
        // Whether it was stored is unknown: the next request reads what was.
        this.#ports.open.forget(id);
        throw error;
      }
    });
  }

  async #begin(invocation: Invocation, application: InvokableApplication, prepared: Prepared): Promise<void> {
    const { open, nextId, nowMs, commit, notifyInvoker } = this.#ports;
    const { interaction, payload } = begun(invocation, application, prepared, nextId(), nowMs());
    const facts: InteractionFact[] = [{ type: 'interactionWritten', interaction }];
    const { submitted } = prepared;
    if (submitted) facts.push(changed({ ...submitted, modal: null }));
    const { userId, id, nonce } = interaction;
    const created: InvokerDispatch = { t: 'INTERACTION_CREATE', d: { id, nonce }, to: 'session' };
    // Autocomplete is not stored: the client asks again after a loss.
    if (interaction.type === INTERACTION.AUTOCOMPLETE) notifyInvoker(interaction, [created]);
    else await commit(interaction, facts, [created]);
    if (submitted) open.put({ ...submitted, modal: null });
    open.put(interaction);
    this.#watch(interaction);
    if (prepared.launches) {
      void this.#launch(interaction);
      return;
    }
    const { applicationId, guildId } = interaction;
    const [tokens, entitlements, fileBytesMax] = await Promise.all([
      this.#ports.tokens(),
      this.#ports.lookups.entitlements(applicationId, userId, guildId),
      this.#ports.fileBytesMax(payload.described.premiumTier, userId),
    ]);
    const object = interactionObject(interaction, {
      ...{ ...payload, token: tokens.of(interaction), entitlements, fileBytesMax },
    });
    const delivery = this.#deliver(interaction, application, object, { ...payload.described, fileBytesMax });
    this.#deliveries.add(delivery);
    void delivery.finally(() => this.#deliveries.delete(delivery));
  }

  /**
   * Answers in the application's stead: launches its activity, and says so in the channel.
   *
   * @source https://docs.discord.com/developers/interactions/application-commands#application-command-object-entry-point-command-handler-types
   */
  async #launch(interaction: Interaction): Promise<void> {
    const { ownerId, id, applicationName, userId } = interaction;
    try {
      const callback = { type: CALLBACK.LAUNCH_ACTIVITY, draft: {}, attachments: [], keep: null, data: null };
      const answered = await this.#ports.answerAtOwner(ownerId, id, callback);
      if (!answered.ok) {
        await this.#fail(interaction, FAILURE.OTHER);
        return;
      }
      const draft = { content: `<@${userId}> started ${applicationName}.`, allowed_mentions: { parse: [] } };
      await this.run(ownerId, id, (launched) =>
        this.#ports.answering.followUp(launched, { draft, attachments: [], withComponents: false }),
      );
    } catch (error) {
      if (!this.#ports.scope.over) this.#ports.onFault(error);
    }
  }

  async #deliver(
    interaction: Interaction,
    application: InvokableApplication,
    object: object,
    { isBotHere, fileBytesMax }: { readonly isBotHere: boolean; readonly fileBytesMax: number },
  ): Promise<void> {
    try {
      const delivered = await deliver(this.#ports.delivery, interaction, application, object, isBotHere);
      if (delivered.kind === 'failed') await this.#fail(interaction, delivered.reason);
      if (delivered.kind !== 'answered') return;
      const { ownerId, id, channelId } = interaction;
      const { receive, answerAtOwner } = this.#ports;
      const answered = await receive(delivered.body, { channelId, fileBytesMax }, (callback) =>
        answerAtOwner(ownerId, id, callback),
      );
      if (!answered.ok) await this.#fail(interaction, FAILURE.OTHER);
    } catch (error) {
      if (!this.#ports.scope.over) this.#ports.onFault(error);
    }
  }

  /** Waits for the first answer until the deadline, and at least `leastMs`. */
  #watch(interaction: Interaction, leastMs = 0): void {
    const { wheel, scope, nowMs, onFault } = this.#ports;
    const { id, ownerId } = interaction;
    if (scope.over) return;
    this.#settle(interaction.id);
    const fail = (): void => {
      this.#deadlines.delete(interaction.id);
      if (scope.over) return;
      this.#fail(interaction, FAILURE.TIMED_OUT).catch((fault) => {
        onFault(fault);
        // Whether it was stored is unknown: the next attempt reads what was.
        this.#ports.open.forget(interaction.id);
        // Also where another owner has the deadline by now: the interaction is over then, and nothing is written.
        this.#watch(interaction, AGAIN_MS);
      });
    };
    const delayMs = Math.max(leastMs, answerDueMs(interaction) - nowMs() + GRACE_MS);
    this.#deadlines.set(id, { ownerId, timer: wheel.add(fail, delayMs) });
  }

  #settle(id: string): void {
    this.#deadlines.get(id)?.timer.cancel();
    this.#deadlines.delete(id);
  }

  /** Ends an interaction that got no answer in time, and notifies the invoker. */
  #fail({ ownerId, id }: Interaction, reason: FailureReason): Promise<void> {
    return this.#mutex(id, async () => {
      const interaction = await this.#current(ownerId, id);
      if (interaction?.state.kind !== 'waiting') return;
      const d = { id, nonce: interaction.nonce, reason_code: reason };
      const failed: Interaction = { ...interaction, state: { kind: 'failed' } };
      await this.write(failed, [], [{ t: 'INTERACTION_FAILURE', d, to: 'session' }]);
      this.#settle(id);
    });
  }

  /** Runs a request about an interaction after the earlier ones. @returns 10062 without such an interaction. */
  run<Value>(
    ownerId: string,
    id: string,
    request: (interaction: Interaction) => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> {
    return this.#mutex(id, async () => {
      this.#underWay.set(id, ownerId);
      try {
        const interaction = await this.#current(ownerId, id);
        return interaction ? await request(interaction) : UNKNOWN;
      } catch (error) {
        // Whether it was stored is unknown: the next request reads what was.
        this.#ports.open.forget(id);
        throw error;
      } finally {
        this.#underWay.delete(id);
      }
    });
  }

  /** The interaction as it is now. What was being written when it was last seen either is stored or never will be. */
  async #current(ownerId: string, id: string): Promise<Interaction | null> {
    const { open, places } = this.#ports;
    const known = open.known(id);
    const interaction = known ?? (await open.get(ownerId, id));
    if (known || interaction?.state.kind !== 'answering')
      return interaction?.ownerId === ownerId ? interaction : null;
    const { messageId, isLoading, changedMs } = interaction.state;
    const message = await places.find(interaction, messageId);
    if (!message || !wasChanged(message, changedMs)) return this.#became(interaction, { kind: 'waiting' });
    const original = { messageId, isEphemeral: false };
    return this.#became(interaction, { kind: 'answered', original, isLoading }, [success(interaction)]);
  }

  async #became(
    before: Interaction,
    state: Interaction['state'],
    dispatches: readonly InvokerDispatch[] = [],
  ): Promise<Interaction> {
    const interaction = { ...before, state };
    await this.write(interaction, [], dispatches);
    return interaction;
  }

  /** Commits a change of an interaction, together with further facts and the dispatches that show it to the invoker. */
  async write(
    interaction: Interaction,
    more: readonly InteractionFact[] = [],
    dispatches: readonly InvokerDispatch[] = [],
  ): Promise<void> {
    if (interaction.type === INTERACTION.AUTOCOMPLETE) this.#ports.notifyInvoker(interaction, dispatches);
    else await this.#ports.commit(interaction, [changed(interaction), ...more], dispatches);
    this.remember(interaction);
  }

  /**
   * Keeps an interaction whose answer is written, stores that it is answered, and notifies the invoker. The caller does not
   * wait: until it is stored, the next owner infers the answer from the message.
   */
  answered(interaction: Interaction): void {
    this.remember(interaction);
    const dispatches = [success(interaction)];
    this.#ports.commit(interaction, [changed(interaction)], dispatches).catch((fault) => {
      // Nobody else infers the answer while this shard owns the interaction.
      if (!(fault instanceof NotServed)) this.#ports.notifyInvoker(interaction, dispatches);
    });
  }

  /** Keeps an interaction in memory as it is now. */
  remember(interaction: Interaction): void {
    this.#ports.open.put(interaction);
    if (interaction.state.kind === 'answered') this.#settle(interaction.id);
  }

  /**
   * Takes over an interaction that an earlier process or owner has begun; the deadline holds.
   */
  adopt(stored: Interaction): Promise<void> {
    return this.#mutex(stored.id, async () => {
      const interaction = await this.#current(stored.ownerId, stored.id);
      if (!interaction) return;
      this.#ports.open.put(interaction);
      if (interaction.state.kind === 'waiting') this.#watch(interaction, RETURN_MS);
    });
  }

  #cancel(): void {
    for (const { timer } of this.#deadlines.values()) timer.cancel();
    this.#deadlines.clear();
  }
}

const changed = (interaction: Interaction): InteractionFact => ({
  type: 'interactionChanged',
  id: interaction.id,
  change: changeOf(interaction),
});

/** The interaction of an invocation, and the payload for its application. */
function begun(
  invocation: Invocation,
  application: InvokableApplication,
  { described, installed, data, message, kept, metadata }: Prepared,
  id: string,
  createdMs: number,
): {
  readonly interaction: Interaction;
  readonly payload: Omit<InteractionPayload, 'token' | 'entitlements' | 'fileBytesMax'>;
} {
  const { type, ownerId, guildId, channelId, applicationId, userId, sessionId, nonce, locales } = invocation;
  const payload = { described, data, message, owners: installed.owners, context: installed.context };
  const interaction: Interaction = {
    ...{ id, type, ownerId, guildId, channelId, applicationId, userId, sessionId, nonce, locales, createdMs },
    botId: application.bot?.id ?? null,
    author: application.author,
    applicationName: application.name,
    applicationIcon: application.icon,
    ...kept,
    metadata: metadataOf({ id, type }, payload, metadata),
    legacy: legacyOf({ id, type, command: kept.command }, described),
    isInstalledHere: installed.isHere,
    forcesEphemeral: installed.forcesEphemeral,
    mentionsEveryone:
      guildId === null || installed.isHere || (BigInt(described.permissions) & P.MENTION_EVERYONE) !== 0n,
    modal: null,
    files: Object.values(invocation.uploads).map(({ id: fileId, filename }) => ({ id: fileId, filename })),
    state: { kind: 'waiting' },
    followUps: 0,
  };
  return { interaction, payload };
}
