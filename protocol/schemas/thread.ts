import type { MessageId } from '../ids.ts';
import { Thread, threadFields } from './channel.ts';
import { ThreadMember } from './member.ts';
import { Message } from './message.ts';
import {
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  time,
  type ValueOf,
} from './schema.ts';

const createdThread = object(
  {
    ...threadFields,
    last_message_id: nullable(id<MessageId>()),
    last_pin_timestamp: nullable(time),
    rate_limit_per_user: integer,
    member: ThreadMember,
    message: optional(Message),
  },
  'CreatedThread',
);
export interface CreatedThread extends ValueOf<typeof createdThread> {}
export const CreatedThread: Schema<CreatedThread> = createdThread;

const threadList = object(
  {
    threads: list(Thread),
    members: list(ThreadMember),
    has_more: flag,
  },
  'ThreadList',
);
export interface ThreadList extends ValueOf<typeof threadList> {}
export const ThreadList: Schema<ThreadList> = threadList;

const threadSearch = object(
  {
    threads: list(Thread),
    members: list(ThreadMember),
    has_more: flag,
    first_messages: optional(list(Message)),
    total_results: integer,
  },
  'ThreadSearch',
);
export interface ThreadSearch extends ValueOf<typeof threadSearch> {}
export const ThreadSearch: Schema<ThreadSearch> = threadSearch;
