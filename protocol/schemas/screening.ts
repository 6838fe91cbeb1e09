import type { ChannelId, GuildId, UserId } from '../ids.ts';
import {
  choice,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const multipleChoiceFormField = object(
  {
    field_type: choice('MULTIPLE_CHOICE'),
    label: optional(text),
    description: optional(text),
    required: optional(flag),
    choices: list(text),
    response: optional(integer),
  },
  'MultipleChoiceFormField',
);

const paragraphFormField = object(
  {
    field_type: choice('PARAGRAPH'),
    label: optional(text),
    description: optional(text),
    required: optional(flag),
    response: optional(text),
  },
  'ParagraphFormField',
);

const termsFormField = object(
  {
    field_type: choice('TERMS'),
    label: optional(text),
    description: optional(text),
    required: optional(flag),
    values: list(text),
    response: optional(flag),
  },
  'TermsFormField',
);

const textInputFormField = object(
  {
    field_type: choice('TEXT_INPUT'),
    label: optional(text),
    description: optional(text),
    required: optional(flag),
    response: optional(text),
  },
  'TextInputFormField',
);

const formField = oneOf(multipleChoiceFormField, paragraphFormField, termsFormField, textInputFormField);

const joinRequest = object(
  {
    id: id(),
    created_at: time,
    reviewed_at: nullable(time),
    application_status: nullable(choice('STARTED', 'SUBMITTED', 'REJECTED', 'APPROVED')),
    rejection_reason: nullable(text),
    guild_id: id<GuildId>(),
    user_id: id<UserId>(),
    user: optional(nullable(User)),
    form_responses: optional(nullable(list(formField))),
    actioned_by_user: optional(nullable(User)),
    interview_channel_id: nullable(id<ChannelId>()),
    join_request_id: id(),
    last_seen: nullable(time),
  },
  'JoinRequest',
);
export interface JoinRequest extends ValueOf<typeof joinRequest> {}
export const JoinRequest: Schema<JoinRequest> = joinRequest;

const joinRequestList = object(
  {
    total: optional(integer),
    guild_join_requests: optional(list(JoinRequest)),
  },
  'JoinRequestList',
);
export interface JoinRequestList extends ValueOf<typeof joinRequestList> {}
export const JoinRequestList: Schema<JoinRequestList> = joinRequestList;
