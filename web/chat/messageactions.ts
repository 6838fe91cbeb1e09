import { type ChatMessage, type EmojiRef, emojiPath } from './shapes.ts';

interface PollDraft {
  readonly question: string;
  readonly answers: readonly string[];
  readonly hours: number;
  readonly isMultiple: boolean;
}

interface ActionPorts {
  /** Path of the channel's messages. */
  readonly path: string;
  /** Sends a request and shows a refusal. @returns whether it succeeded. */
  run(method: string, path: string, body?: object): Promise<boolean>;
}

/** Actions of a user on the messages of a channel. */
export class MessageActions {
  readonly #path: string;
  readonly #run: ActionPorts['run'];

  constructor({ path, run }: ActionPorts) {
    this.#path = path;
    this.#run = run;
  }

  sendSticker(id: string): Promise<boolean> {
    return this.#run('POST', this.#path, { sticker_ids: [id] });
  }

  sendPoll({ question, answers, hours, isMultiple }: PollDraft): Promise<boolean> {
    const poll = {
      question: { text: question },
      answers: answers.map((text) => ({ poll_media: { text } })),
      ...{ duration: hours, allow_multiselect: isMultiple },
    };
    return this.#run('POST', this.#path, { poll });
  }

  edit({ id }: ChatMessage, content: string): Promise<boolean> {
    return this.#run('PATCH', `${this.#path}/${id}`, { content });
  }

  delete({ id }: ChatMessage): Promise<boolean> {
    return this.#run('DELETE', `${this.#path}/${id}`);
  }

  react({ id, reactions = [] }: ChatMessage, emoji: EmojiRef): Promise<boolean> {
    const name = emojiPath(emoji);
    const isOn = reactions.some((one) => one.me && emojiPath(one.emoji) === name);
    return this.#run(isOn ? 'DELETE' : 'PUT', `${this.#path}/${id}/reactions/${name}/@me`);
  }

  /** Votes for an answer, or removes the vote. */
  vote({ id, poll, channel_id: channelId }: ChatMessage, answerId: number): Promise<boolean> {
    const own = (poll?.results?.answer_counts ?? []).filter(({ me_voted }) => me_voted).map((one) => one.id);
    const kept = poll?.allow_multiselect ? own.filter((one) => one !== answerId) : [];
    const answerIds = own.includes(answerId) ? kept : [...kept, answerId];
    return this.#run('PUT', `/channels/${channelId}/polls/${id}/answers/@me`, { answer_ids: answerIds });
  }

  startThread({ id }: ChatMessage, name: string): Promise<boolean> {
    return this.#run('POST', `${this.#path}/${id}/threads`, { name });
  }
}
