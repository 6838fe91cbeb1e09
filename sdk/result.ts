import { ErrorType, errorTypeToString } from './enums.ts';

/** Outcome of a call, as a `ClientError` holds it. */
export interface ClientResult {
  readonly type: ErrorType;
  /** Error message; empty on success. */
  readonly error: string;
  /** The server's error code, or a close code of the gateway; 0 without one. */
  readonly errorCode: number;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly responseBody: string;
  readonly successful: boolean;
  /** The same call may succeed later. */
  readonly retryable: boolean;
  /** Seconds to wait before retrying, when the server said so; else 0. */
  readonly retryAfter: number;
}

/** The error that every call rejects with. */
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

/** Error for an invalid argument; nothing was sent. */
export const invalid = (sentence: string): ClientError =>
  new ClientError(ErrorType.ValidationError, sentence);

export const notReady = (sentence = 'The client is not connected.'): ClientError =>
  new ClientError(ErrorType.ClientNotReady, sentence, { retryable: true });

export const aborted = (sentence = 'The call was given up.'): ClientError =>
  new ClientError(ErrorType.Aborted, sentence);

export const networkError = (sentence: string): ClientError =>
  new ClientError(ErrorType.NetworkError, sentence, { retryable: true });

/** Converts a thrown value into a result. */
export const asClientError = (thrown: unknown): ClientError =>
  thrown instanceof ClientError
    ? thrown
    : networkError(thrown instanceof Error ? thrown.message : String(thrown));
