import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';

type ExpressionKind = 'emojis' | 'stickers' | 'soundboard-sounds';

/** A file of an emoji, a sticker or a sound, with the type that its bytes have. */
export interface ExpressionFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** The files of emojis, stickers and sounds; each is stored before the command that creates its expression. */
export interface ExpressionFiles {
  /** Stores the file of a new expression, runs its command, and deletes the file when the command is refused. */
  using<Value>(
    kind: ExpressionKind,
    id: string,
    file: ExpressionFile,
    run: () => Promise<Reply<Value>>,
  ): Promise<Reply<Value>>;
  /** Deletes the file of a deleted expression. */
  delete(kind: ExpressionKind, id: string): Promise<void>;
}

interface ExpressionFilePorts {
  readonly blobs: Pick<Blobs, 'put' | 'delete'>;
  readonly expressionKey: (kind: ExpressionKind, id: string) => string;
}

export function createExpressionFiles({ blobs, expressionKey }: ExpressionFilePorts): ExpressionFiles {
  const remove: ExpressionFiles['delete'] = (kind, id) => blobs.delete(expressionKey(kind, id));
  return {
    async using(kind, id, { bytes, contentType }, run) {
      await blobs.put(expressionKey(kind, id), bytes, contentType);
      // After a fault it is unknown whether the expression was committed, so only a refusal deletes the file.
      const reply = await run();
      if (!reply.ok) await remove(kind, id);
      return reply;
    },
    delete: remove,
  };
}
