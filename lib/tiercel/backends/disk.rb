# frozen_string_literal: true

# The common parts of `sqlite:` and `file:`: the largest value, tokens, and a memo of digests.
module Tiercel::Backends::Disk
  # The largest value is `size` divided by this number, so one write exceeds `size` by no more than this share.
  LARGEST_VALUE_SHARE = 20

  # Bounds of the memory for the digests of recently used keys.
  MEMO_ENTRIES = 8_192
  LONGEST_MEMO_KEY_BYTES = 1_024

  private

  # @yieldreturn [Object] the digest of the key
  # @return [Hash{String => Object}] computes the digest of a key at its first look-up, and keeps it
  def digests
    Hash.new do |memo, key|
      digest = yield key
      next digest if key.bytesize > LONGEST_MEMO_KEY_BYTES
      memo.clear if memo.size >= MEMO_ENTRIES
      memo[key] = digest
    end
  end

  def largest_bytes = @size_bytes / LARGEST_VALUE_SHARE
  def too_large?(bytes) = bytes.bytesize > largest_bytes

  # Nothing else may stay under the key of a value that is too large.
  def refuse(key)
    delete(key)
    false
  end

  # @return [Exception] the {BackendError} for an error of the medium; any other error itself
  def translated(error, key)
    case error
    when Tiercel::FileLock::Busy
      Tiercel::TimedOut.new("locked for more than #{(@timeout_seconds * 1000).round} ms", backend: to_s, key:)
    when *self.class::REFUSALS
      Tiercel::Refused.new("#{error.class}: #{error.message}", backend: to_s, key:)
    when *self.class::FAILURES
      Tiercel::Unavailable.new("#{error.class}: #{error.message}", backend: to_s, key:)
    else
      error
    end
  end

  # A token for `compare_and_set`: a random start for each process, incremented with each write, so that no token
  # repeats. A token has 62 bits: an immediate Integer in Ruby, 8 bytes on disk.
  def next_token
    unless @token_process == Tiercel::Forks.current
      # The token is assigned first, so that no other thread continues the parent's sequence or starts from nil.
      @token = Random.urandom(8).unpack1("Q") % 2**61
      @token_process = Tiercel::Forks.current
    end
    @token += 1
  end
end
