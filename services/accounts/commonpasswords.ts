let loading: Promise<ReadonlySet<string>> | null = null;

/**
 * The passwords that are tried first everywhere, in lower case: some 50,000, from published breaches. Read when the first
 * password is set, since it costs a few megabytes that a server of bots alone never needs.
 *
 * @source the package's list `passwords-common`, which its maintainers renew
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
