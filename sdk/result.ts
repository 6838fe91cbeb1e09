import { ErrorType, errorTypeToString } from './enums.ts';

/** How a call went: what a `ClientError` holds. */
export interface ClientResult {
  readonly type: ErrorType;
  /** A sentence; empty when all went well. */
  readonly error: string;
  /** The server's code for the refusal, or a close code of the gateway; 0 when there is none. */
  readonly errorCode: number;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly responseBody: string;
  readonly successful: boolean;
  /** The same call may go well later. */
  readonly retryable: boolean;
  /** Seconds to wait before that, when the server said so; else 0. */
  readonly retryAfter: number;
}

/** What every call rejects with. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly result: ClientResult;

  constructor(type: ErrorType, error: string, more: Partial<Omit<ClientResult, 'type' | 'error'>> = {}) {
    super(error);
    this.result = {
      errorCode: 0,
      status: 0,
      responseBody: '',
      retryable: false,
      retryAfter: 0,
      ...more,
      type,
      error,
      successful: false,
    };
  }

  get type(): ErrorType {
    return this.result.type;
  }

  override toString(): string {
    const { type, error, status, errorCode } = this.result;
    const numbers = [status && `status ${status}`, errorCode && `code ${errorCode}`].filter(Boolean);
    return `${errorTypeToString(type)}: ${error}${numbers.length > 0 ? ` (${numbers.join(', ')})` : ''}`;
  }
}

/** A value is not what the call takes; nothing was sent. */
export const invalid = (sentence: string): ClientError =>
  new ClientError(ErrorType.ValidationError, sentence);

export const notReady = (sentence = 'The client is not connected.'): ClientError =>
  new ClientError(ErrorType.ClientNotReady, sentence, { retryable: true });

export const aborted = (sentence = 'The call was given up.'): ClientError =>
  new ClientError(ErrorType.Aborted, sentence);

export const networkError = (sentence: string): ClientError =>
  new ClientError(ErrorType.NetworkError, sentence, { retryable: true });

/** Whatever was thrown, as a result's error. */
export const asClientError = (thrown: unknown): ClientError =>
  thrown instanceof ClientError
    ? thrown
    : networkError(thrown instanceof Error ? thrown.message : String(thrown));
