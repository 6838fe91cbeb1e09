import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { FreshId } from '../../protocol/ids.ts';
import { MalformedJson, parseJson, withoutBigints } from '../../protocol/json.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { MessageFiles } from '../../services/channels/messagefiles.ts';
import type { ReceiveAnswer } from '../../services/interactions/ports.ts';
import { BODY_BYTES } from '../rest/bodysize.ts';
import type { Upload } from '../rest/operation.ts';
import {
  answerWithFiles,
  InteractionCallback,
  readCallbackData,
} from '../rest/resources/interactions.callback.ts';
import { compileValidator } from '../rest/validate.ts';
import { createFormReader } from './multipart.ts';

interface AnswerPorts {
  readonly messageFiles: MessageFiles;
  readonly nextId: () => FreshId;
  /** Base URL of this server for clients, without a trailing slash. */
  readonly publicUrl: () => string;
}

interface Content {
  readonly body: unknown;
  readonly files: readonly Upload[];
}

const FORM = 'multipart/form-data';
const readCallback = compileValidator(InteractionCallback);

/** Whether a body of this type is a form with files. */
const isForm = (contentType: string | null): contentType is string =>
  contentType?.split(';', 1)[0]?.trim().toLowerCase() === FORM;

/**
 * Reads callbacks in the bodies of HTTP responses: JSON, or a form with files and the callback in `payload_json`. Stores the
 * files; deletes those that the answer does not show.
 *
 * @source https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction
 */
export function createAnswerReader({ messageFiles, nextId, publicUrl }: AnswerPorts): ReceiveAnswer {
  return async ({ contentType, body }, { channelId, fileBytesMax }, answer) => {
    const content = await contentOf(contentType, body, fileBytesMax);
    if (!content.ok) return content;
    const shaped = readCallback(withoutBigints(content.value.body));
    if (!shaped.ok) return shaped;
    const read = readCallbackData(shaped.value, content.value.files);
    if (!read.ok) return read;
    const fits = async (bytes: number) => bytes <= fileBytesMax;
    const place = { nextId, channelId, publicUrl: publicUrl(), fits };
    return answerWithFiles(messageFiles, place, read.value, answer);
  };
}

async function contentOf(
  contentType: string | null,
  body: Uint8Array,
  fileBytesMax: number,
): Promise<Reply<Content>> {
  if (isForm(contentType)) {
    const form = createFormReader(contentType, fileBytesMax, BODY_BYTES.message);
    form.write(body);
    const read = await form.end();
    return read.ok ? { ok: true, value: read } : read;
  }
  try {
    return { ok: true, value: { body: parseJson(body), files: [] } };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    return { ok: false, refusal: refusal('INVALID_JSON') };
  }
}
