import type { MessagePage } from '../../../engine/channel/recent.ts';
import type { MessageId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';

/** Selects one direction of paging: `around` takes precedence over `before`, and `before` over `after`. */
export function pageOf(query: {
  readonly around?: MessageId;
  readonly before?: MessageId;
  readonly after?: MessageId;
  readonly limit?: number;
}): MessagePage {
  const limit = query.limit ?? LIMITS.messages_page_default;
  if (query.around !== undefined) return { around: query.around, limit };
  if (query.before !== undefined) return { before: query.before, limit };
  if (query.after !== undefined) return { after: query.after, limit };
  return { limit };
}
