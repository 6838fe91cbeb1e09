import {
  choice,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const reactionEmoji = object(
  {
    id: nullable(id()),
    name: nullable(text),
    animated: optional(flag),
  },
  'ReactionEmoji',
);
export interface ReactionEmoji extends ValueOf<typeof reactionEmoji> {}
export const ReactionEmoji: Schema<ReactionEmoji> = reactionEmoji;

const pollMedia = object(
  {
    text: text,
    emoji: optional(ReactionEmoji),
  },
  'PollMedia',
);

const pollAnswer = object(
  {
    answer_id: integer,
    poll_media: pollMedia,
  },
  'PollAnswer',
);

const pollResultsEntry = object(
  {
    id: integer,
    count: integer,
    me_voted: flag,
  },
  'PollResultsEntry',
);

const pollResults = object(
  {
    answer_counts: list(pollResultsEntry),
    is_finalized: flag,
  },
  'PollResults',
);

const poll = object(
  {
    question: pollMedia,
    answers: list(pollAnswer),
    expiry: time,
    allow_multiselect: flag,
    layout_type: choice(1),
    results: pollResults,
  },
  'Poll',
);
export interface Poll extends ValueOf<typeof poll> {}
export const Poll: Schema<Poll> = poll;

const pollAnswerDetails = object(
  {
    users: list(User),
  },
  'PollAnswerDetails',
);
export interface PollAnswerDetails extends ValueOf<typeof pollAnswerDetails> {}
export const PollAnswerDetails: Schema<PollAnswerDetails> = pollAnswerDetails;
