import { MessageFlags, MessageType } from 'discord-api-types/v10';
import type { CreateInput, EditInput, MessageDraft, Sender, Written } from '../../engine/channel/draft.ts';
import { Form } from '../../engine/channel/form.ts';
import { hasPremiumButton } from '../../engine/channel/premiumbuttons.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { localizedChoices, readChoices } from '../../engine/interaction/choices.ts';
import {
  answerType,
  callbackRefusal,
  followUpRefusal,
  type Interaction,
  isEphemeral,
  wasChanged,
} from '../../engine/interaction/interaction.ts';
import { readModal } from '../../engine/interaction/modal.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { BUTTON_STYLE, COMPONENT } from '../../protocol/components.ts';
import type { ApplicationId, MessageId } from '../../protocol/ids.ts';
import { CALLBACK } from '../../protocol/interactions.ts';
import { isRecord } from '../../protocol/json.ts';
import { invalidField, type Refusal, refusal, refusedIn } from '../../protocol/refusal.ts';
import type { TokenMessage, TokenMessageId } from '../webhooks/ports.ts';
import type { Answered, EphemeralMessages } from './ephemeral.ts';
import { type InvokerDispatch, success } from './invoker.ts';
import type { Places } from './places.ts';
import type { Callback, CallbackResult } from './ports.ts';

interface AnsweringPorts {
  readonly places: Places;
  readonly ephemeral: EphemeralMessages;
  readonly nextId: () => MessageId;
  readonly nowMs: () => number;
  /** Commits a change of the interaction, and sends the dispatches; resolves when it is durable. */
  write(interaction: Interaction, dispatches?: readonly InvokerDispatch[]): Promise<void>;
  /** @throws NotServed when another shard has owned the interaction since the request began. */
  checkOwned(interaction: Interaction): void;
  /** Keeps an answered interaction in memory; the database has its answer already. */
  remember(interaction: Interaction): void;
  /** Keeps an answered interaction, stores in the background that it is, and notifies the invoker. */
  answered(interaction: Interaction): void;
  /** Ids of the SKUs that the application sells. */
  forSale(applicationId: ApplicationId): Promise<readonly string[]>;
  /** Launches the activity of the interaction's application where it was invoked. @returns the instance's id. */
  launch(interaction: Interaction): Promise<Reply<string>>;
}

const no = (found: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: found,
});
const UNKNOWN_MESSAGE = no(refusal('UNKNOWN_MESSAGE'));

/** @source https://docs.discord.com/developers/resources/message#allowed-mentions-object; interactions notify only users */
const DEFAULT_MENTIONS = { parse: ['users'] };

/** The author of the messages that answer an interaction. */
const senderOf = (
  { applicationId, metadata, legacy, author }: Interaction,
  extra: Omit<Partial<Sender>, 'fields'> & { readonly fields?: Partial<Sender['fields']> } = {},
): Sender => ({
  components: 'any',
  ...extra,
  fields: {
    author,
    application_id: applicationId,
    webhook_id: applicationId,
    interaction_metadata: metadata,
    ...(legacy && { interaction: legacy }),
    ...extra.fields,
  },
});

/** Answers interactions and sends follow-ups. The caller runs one request of an interaction at a time. */
export class Answering {
  readonly #ports: AnsweringPorts;

  constructor(ports: AnsweringPorts) {
    this.#ports = ports;
  }

  /** Answers an interaction for the first time. */
  async first(interaction: Interaction, callback: Callback): Promise<Reply<CallbackResult>> {
    const refused = callbackRefusal(interaction, callback.type, this.#ports.nowMs());
    if (refused) return no(refused);
    switch (callback.type) {
      case CALLBACK.MESSAGE:
        return this.#message(interaction, callback, false);
      case CALLBACK.DEFERRED_MESSAGE:
        return this.#message(interaction, callback, true);
      case CALLBACK.UPDATE_MESSAGE:
        return this.#update(interaction, callback);
      case CALLBACK.CHOICES:
        return this.#choices(interaction, callback);
      case CALLBACK.MODAL:
        return this.#modal(interaction, callback);
      case CALLBACK.PREMIUM_REQUIRED:
        return this.#upsell(interaction);
      case CALLBACK.LAUNCH_ACTIVITY:
        return this.#launch(interaction);
      default:
        return this.#silent(interaction);
    }
  }

  /** A message, or one that is being prepared, with the interaction's first message id. */
  async #message(
    interaction: Interaction,
    { draft, attachments }: Pick<Callback, 'draft' | 'attachments'>,
    isLoading: boolean,
    type: MessageType | null = interaction.command && answerType(interaction),
  ): Promise<Reply<CallbackResult>> {
    const { ephemeral, write, checkOwned, nextId } = this.#ports;
    const messageId = nextId();
    const isHidden = isEphemeral(interaction, draft.flags);
    const isCommand = interaction.command !== null;
    const from = senderOf(interaction, {
      ...(isLoading && { isLoading }),
      ...(isHidden && { isEphemeral: true }),
      fields: { id: messageId, ...(type !== null && { type }) },
    });
    const source = isCommand || interaction.source?.isEphemeral ? null : interaction.source;
    const sent = {
      draft: isLoading ? {} : replying(permitted(interaction, draft), source?.messageId ?? null),
      ...{ skuIds: await this.#skuIds(interaction, draft), attachments, forward: null, from },
    };
    const original = { messageId, isEphemeral: isHidden };
    const answered: Interaction = { ...interaction, state: { kind: 'answered', original, isLoading } };
    let written: Reply<Written>;
    if (isHidden) {
      written = await ephemeral.create(answered, sent, [success(answered)]);
    } else {
      const state = { kind: 'answering', messageId, isLoading } as const;
      // Durable before the message is decided: no message may be stored without the interaction that names it.
      await write({ ...interaction, state });
      // Another owner that found no message has decided that there is no answer yet.
      checkOwned(interaction);
      written = await this.#ports.places.write(interaction, sent);
    }
    if (!written.ok) {
      if (!isHidden) await write(interaction);
      return no(refusedIn('data', written.refusal));
    }
    // The next owner could infer the answer from its message, but the message may be deleted.
    if (isHidden) this.#ports.remember(answered);
    else this.#ports.answered(answered);
    return resultOf(answered, written.value);
  }

  /** Shows the invoker alone what the application sells. */
  async #upsell(interaction: Interaction): Promise<Reply<CallbackResult>> {
    const skuIds = await this.#ports.forSale(interaction.applicationId);
    if (skuIds.length === 0)
      return no(invalidField(['type'], 'BASE_TYPE_CHOICES', 'The application sells nothing.'));
    const draft = { components: [premiumRow(skuIds)], flags: MessageFlags.Ephemeral };
    const type = MessageType.InteractionPremiumUpsell;
    return this.#message(interaction, { draft, attachments: [] }, false, type);
  }

  async #update(interaction: Interaction, callback: Callback): Promise<Reply<CallbackResult>> {
    const { source } = interaction;
    if (!source) return UNKNOWN_MESSAGE;
    const { nowMs, write, checkOwned, remember } = this.#ports;
    const { edit, ...rest } = editOf(callback);
    const change = { edit: permitted(interaction, edit), ...rest };
    const answered: Interaction = {
      ...interaction,
      state: { kind: 'answered', original: source, isLoading: false },
    };
    const { messageId, isEphemeral: isHidden } = source;
    const state = { kind: 'answering', messageId, isLoading: false, changedMs: nowMs() } as const;
    if (!isHidden) {
      await write({ ...interaction, state });
      checkOwned(interaction);
    }
    const written = await this.#change(interaction, source, change, {
      answered,
      dispatches: [success(answered)],
    });
    if (!written.ok) {
      if (!isHidden) await write(interaction);
      return no(refusedIn('data', written.refusal));
    }
    // After an edit that changed nothing, the next owner could not infer the answer from the message.
    if (isHidden) remember(answered);
    else if (wasChanged(written.value.message, state.changedMs)) this.#ports.answered(answered);
    else await write(answered, [success(answered)]);
    return resultOf(answered, written.value);
  }

  async #choices(interaction: Interaction, { data }: Callback): Promise<Reply<CallbackResult>> {
    const { focused } = interaction;
    if (!focused) return no(refusal('UNKNOWN_INTERACTION'));
    const form = new Form();
    const choices = readChoices(isRecord(data) ? data.choices : undefined, focused, form);
    const wrong = form.refusal();
    if (wrong) return no(wrong);
    const answered: Interaction = { ...interaction, state: NO_MESSAGE };
    const d = { nonce: interaction.nonce, choices: localizedChoices(choices, interaction.locales) };
    const shown: InvokerDispatch = { t: 'APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE', d, to: 'session' };
    await this.#ports.write(answered, [shown, success(answered)]);
    return resultOf(answered, null);
  }

  async #modal(interaction: Interaction, { data }: Callback): Promise<Reply<CallbackResult>> {
    const form = new Form();
    const modal = readModal(data, form);
    const wrong = form.refusal();
    if (wrong || !modal) return no(wrong ?? refusal('INVALID_FORM_BODY'));
    const answered: Interaction = { ...interaction, state: NO_MESSAGE, modal };
    const { id, nonce, channelId, applicationId, author, applicationName, applicationIcon } = interaction;
    const d = {
      ...{ id, nonce, channel_id: channelId },
      application: { id: applicationId, name: applicationName, icon: applicationIcon, bot: author },
      ...modal,
    };
    const shown: InvokerDispatch = { t: 'INTERACTION_MODAL_CREATE', d, to: 'session' };
    await this.#ports.write(answered, [shown, success(answered)]);
    return resultOf(answered, null);
  }

  /** The activity runs before it is stored that it was launched: whether it runs, its owner knows. */
  async #launch(interaction: Interaction): Promise<Reply<CallbackResult>> {
    const launched = await this.#ports.launch(interaction);
    if (!launched.ok) return launched;
    const answered: Interaction = { ...interaction, state: NO_MESSAGE };
    await this.#ports.write(answered, [success(answered, { activity_instance_id: launched.value })]);
    return resultOf(answered, null, launched.value);
  }

  async #silent(interaction: Interaction): Promise<Reply<CallbackResult>> {
    const { source } = interaction;
    const answered: Interaction = {
      ...interaction,
      state: { kind: 'answered', original: source, isLoading: false },
    };
    await this.#ports.write(answered, [success(answered)]);
    return resultOf(answered, null);
  }

  /** A further message. The first one after a deferral completes the message that is being prepared. */
  async followUp(interaction: Interaction, message: TokenMessage): Promise<Reply<Written>> {
    if (await this.#isPreparing(interaction)) {
      const { attachments } = message;
      return this.edit(interaction, '@original', { edit: message.draft, keep: [], attachments });
    }
    const refused = followUpRefusal(interaction);
    if (refused) return no(refused);
    const isHidden = isEphemeral(interaction, message.draft.flags);
    const originalId = originalOf(interaction)?.messageId ?? null;
    const from = senderOf(interaction, {
      ...(isHidden && { isEphemeral: true }),
      fields: {
        interaction_metadata: {
          ...interaction.metadata,
          ...(originalId !== null && { original_response_message_id: originalId }),
        },
      },
    });
    const replied = isHidden || originalOf(interaction)?.isEphemeral ? null : originalId;
    const sent = {
      draft: replying(permitted(interaction, message.draft), replied),
      skuIds: await this.#skuIds(interaction, message.draft),
      ...{ attachments: message.attachments, forward: null, from },
    };
    const counted: Interaction = { ...interaction, followUps: interaction.followUps + 1 };
    if (isHidden) return this.#ports.ephemeral.create(counted, sent);
    if (interaction.isInstalledHere) return this.#ports.places.write(interaction, sent);
    // Counted before it is written, so that a crash gives none away; one that is refused does not count.
    await this.#ports.write(counted);
    const written = await this.#ports.places.write(interaction, sent);
    if (!written.ok) await this.#ports.write(interaction);
    return written;
  }

  /** Whether the answer is still being prepared, read from its message: it may be deleted, or edited before a crash. */
  async #isPreparing(interaction: Interaction): Promise<boolean> {
    const { state } = interaction;
    if (state.kind === 'waiting' || state.kind === 'failed' || !state.isLoading) return false;
    const original = await this.#named(interaction, '@original');
    return ((original?.message.flags ?? 0) & MessageFlags.Loading) !== 0;
  }

  async get(interaction: Interaction, id: TokenMessageId): Promise<Reply<StoredMessage>> {
    const named = await this.#named(interaction, id);
    return named ? { ok: true, value: named.message } : UNKNOWN_MESSAGE;
  }

  async edit(
    interaction: Interaction,
    id: TokenMessageId,
    change: Omit<EditInput, 'from'>,
  ): Promise<Reply<Written>> {
    const named = await this.#named(interaction, id);
    if (!named) return UNKNOWN_MESSAGE;
    const written = await this.#change(interaction, named, {
      ...change,
      edit: permitted(interaction, change.edit),
    });
    const { state } = interaction;
    const isOriginal = originalOf(interaction)?.messageId === named.messageId;
    if (
      written.ok &&
      isOriginal &&
      (state.kind === 'answered' || state.kind === 'answering') &&
      state.isLoading
    )
      await this.#ports.write({ ...interaction, state: { ...state, isLoading: false } });
    return written;
  }

  async remove(interaction: Interaction, id: TokenMessageId): Promise<Reply<null>> {
    const named = await this.#named(interaction, id);
    if (!named) return UNKNOWN_MESSAGE;
    const { ephemeral, places, write } = this.#ports;
    const removed = named.isEphemeral
      ? await ephemeral.remove(interaction, named.messageId)
      : await places.remove(interaction, named.messageId, senderOf(interaction));
    // A follow-up after this is a message of its own, also when the answer was still being prepared.
    if (removed.ok && originalOf(interaction)?.messageId === named.messageId)
      await write({ ...interaction, state: NO_MESSAGE });
    return removed;
  }

  async #skuIds({ applicationId }: Interaction, { components }: Pick<MessageDraft, 'components'>) {
    return hasPremiumButton(components) ? this.#ports.forSale(applicationId) : [];
  }

  /** @param after The interaction as it is then, which is stored, and shown, with a message that only its reader sees. */
  async #change(
    interaction: Interaction,
    { messageId, isEphemeral: isHidden }: { readonly messageId: MessageId; readonly isEphemeral: boolean },
    change: Omit<EditInput, 'from'>,
    after: Answered | null = null,
  ): Promise<Reply<Written>> {
    const skuIds = await this.#skuIds(interaction, change.edit);
    const changed = { ...change, skuIds, from: senderOf(interaction) };
    if (isHidden) return this.#ports.ephemeral.edit(interaction, messageId, changed, after);
    return this.#ports.places.edit(interaction, messageId, changed);
  }

  /** A message of the interaction: the answer, or one of the application in its channel. */
  async #named(interaction: Interaction, id: TokenMessageId) {
    const { places, ephemeral } = this.#ports;
    const original = originalOf(interaction);
    const messageId = id === '@original' ? original?.messageId : id;
    if (messageId === undefined) return null;
    const isPublic = original?.messageId === messageId && !original.isEphemeral;
    const hidden = isPublic ? null : await ephemeral.get(interaction, messageId);
    if (hidden) return { messageId, isEphemeral: true, message: hidden.message };
    const message = await places.find(interaction, messageId);
    const { applicationId, botId } = interaction;
    const isOwn = message?.application_id === applicationId || message?.author.id === botId;
    return message && isOwn ? { messageId, isEphemeral: false, message } : null;
  }
}

const ROW_BUTTONS_MAX = 5;

/** A row of buttons for what an application sells: as many as a row holds. */
const premiumRow = (skuIds: readonly string[]) => ({
  type: COMPONENT.ACTION_ROW,
  components: skuIds
    .slice(0, ROW_BUTTONS_MAX)
    .map((skuId) => ({ type: COMPONENT.BUTTON, style: BUTTON_STYLE.PREMIUM, sku_id: skuId })),
});

const NO_MESSAGE: Interaction['state'] = { kind: 'answered', original: null, isLoading: false };

function originalOf({ state }: Interaction) {
  if (state.kind === 'answered') return state.original;
  return state.kind === 'answering' ? { messageId: state.messageId, isEphemeral: false } : null;
}

function resultOf(
  { type, state }: Interaction,
  written: Written | null,
  activityInstanceId: string | null = null,
): Reply<CallbackResult> {
  const isAnswered = state.kind === 'answered';
  return {
    ok: true,
    value: {
      ...{ type, written, activityInstanceId },
      isLoading: isAnswered && state.isLoading,
      isEphemeral: isAnswered && state.original?.isEphemeral === true,
    },
  };
}

/**
 * Only users are notified unless the answer says otherwise. An application that only the invoker has installed may mention
 * everyone and roles only where the invoker may.
 */
function permitted<D extends Pick<MessageDraft, 'allowed_mentions'>>(
  { mentionsEveryone }: Interaction,
  draft: D,
): D {
  const mentions = draft.allowed_mentions ?? DEFAULT_MENTIONS;
  const users = { ...mentions, parse: mentions.parse?.filter((kind) => kind === 'users') ?? null, roles: [] };
  return { ...draft, allowed_mentions: mentionsEveryone ? mentions : users };
}

const replying = (draft: MessageDraft, messageId: MessageId | null): CreateInput['draft'] =>
  messageId === null
    ? draft
    : { ...draft, message_reference: { message_id: messageId, fail_if_not_exists: false } };

/** A callback that updates a message. Absent fields stay. */
function editOf({ draft, attachments, keep }: Callback): Omit<EditInput, 'from'> {
  const { content, embeds, components, flags, allowed_mentions: mentions } = draft;
  return {
    edit: {
      ...(content !== undefined && { content }),
      ...(embeds !== undefined && { embeds }),
      ...(components !== undefined && { components }),
      ...(flags !== undefined && { flags }),
      ...(mentions !== undefined && { allowed_mentions: mentions }),
    },
    ...{ keep, attachments },
  };
}
