let loading: Promise<ReadonlySet<string>> | null = null;

/**
 * Some 50,000 common passwords from published breaches, in lower case. Loaded when the first password is set: the list
 * takes a few megabytes, which a server with only bots does not need.
 *
 * @source https://www.npmjs.com/package/@zxcvbn-ts/language-common, dictionary `passwords-common`
 */
export function commonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common']),
  );
  loading.catch(() => {
    loading = null;
  });
  return loading;
}
