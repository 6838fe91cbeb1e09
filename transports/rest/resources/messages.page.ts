import type { MessageId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { MessagePage } from '../../../storage/message/port.ts';

/** Selects one direction of paging: `around` takes precedence over `before`, and `before` over `after`. */
export function pageOf(query: {
  readonly around?: string;
  readonly before?: string;
  readonly after?: string;
  readonly limit?: number;
}): MessagePage {
  const limit = query.limit ?? LIMITS.messages_page_default;
  if (query.around !== undefined) return { around: query.around as MessageId, limit };
  if (query.before !== undefined) return { before: query.before as MessageId, limit };
  if (query.after !== undefined) return { after: query.after as MessageId, limit };
  return { limit };
}
