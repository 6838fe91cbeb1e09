import assert from 'node:assert/strict';
import type { KeptAttachment, MessageDraft, Written } from '../../../engine/channel/draft.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { CALLBACK, type CallbackType } from '../../../protocol/interactions.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Any, Choice, Nullable, Obj, Optional, type Static } from '../../../protocol/schemas/request.ts';
import type { FileDestination, MessageFiles } from '../../../services/channels/messagefiles.ts';
import type { Callback, CallbackResult } from '../../../services/interactions/ports.ts';
import type { Upload } from '../operation.ts';
import { compileValidator } from '../validate.ts';
import { keptBy, newFiles, type Paired, pairFiles, type UrlParts } from './messages.files.ts';
import { EditContent, WrittenMessage } from './messages.schema.ts';

/** @source https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object */
export const InteractionCallback = Obj({
  type: Choice(...Object.values(CALLBACK)),
  data: Optional(Nullable(Any())),
});

const NewMessage = Obj({ data: Optional(Nullable(Obj(WrittenMessage))) });
const ChangedMessage = Obj({ data: Optional(Nullable(EditContent)) });

const readNew = compileValidator(NewMessage);
const readChanged = compileValidator(ChangedMessage);

/** Reads the message of a callback; null for a callback without one. */
function readerOf(type: CallbackType): typeof readNew | typeof readChanged | null {
  if (type === CALLBACK.UPDATE_MESSAGE) return readChanged;
  return type === CALLBACK.MESSAGE || type === CALLBACK.DEFERRED_MESSAGE ? readNew : null;
}

/** A callback before its files are stored. */
interface ReadCallback {
  readonly callback: Omit<Callback, 'attachments'>;
  readonly paired: Paired;
}

const NO_FILES: Paired = { files: [], rest: [] };

/** Reads a callback whose type is known: the data by its type, the files of a message. */
export function readCallbackData(
  { type, data = null }: { readonly type: CallbackType; readonly data?: unknown },
  files: readonly Upload[],
): Reply<ReadCallback> {
  const read = readerOf(type);
  if (!read)
    return { ok: true, value: { callback: { type, data, draft: {}, keep: null }, paired: NO_FILES } };
  const shaped = read({ data });
  if (!shaped.ok) return shaped;
  const message: NonNullable<Static<typeof NewMessage>['data']> = shaped.value.data ?? {};
  const { attachments: notes, ...draft } = message;
  const paired = pairFiles(files, notes);
  if (!paired.ok) return paired;
  const isNew = type !== CALLBACK.UPDATE_MESSAGE;
  if (isNew && paired.value.rest.length > 0)
    return { ok: false, refusal: refusal('UPLOADED_FILE_NOT_FOUND') };
  const keep: readonly KeptAttachment[] | null = keptBy(message, paired.value);
  const written: MessageDraft = draft;
  return { ok: true, value: { callback: { type, data: null, draft: written, keep }, paired: paired.value } };
}

/** Stores the files of a callback, and deletes those that its answer does not show. */
export async function answerWithFiles(
  messageFiles: MessageFiles,
  place: FileDestination & UrlParts,
  { callback, paired }: ReadCallback,
  answer: (callback: Callback) => Promise<Reply<CallbackResult>>,
): Promise<Reply<CallbackResult>> {
  let result: CallbackResult | null = null;
  const sent = { files: newFiles(place, paired), forward: null };
  const reply = await messageFiles.using<Written | null>(place, sent, async (attachments) => {
    const answered = await answer({ ...callback, attachments });
    if (!answered.ok) return answered;
    result = answered.value;
    return { ok: true, value: answered.value.written };
  });
  if (!reply.ok) return reply;
  assert(result, 'a callback was answered or refused');
  return { ok: true, value: result };
}
