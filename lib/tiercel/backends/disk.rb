# frozen_string_literal: true

# The common parts of `sqlite:` and `file:`: the largest value, tokens, and a memo of digests.
module Tiercel::Backends::Disk
  # A larger value is refused: one write may exceed `size` by this share at most.
  LARGEST_VALUE_SHARE = 20

  private

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

  # Tokens for `compare_and_set`: a random start for each process, incremented with each write, so that no token
  # repeats. They have 62 bits: an immediate Integer in Ruby, 8 bytes on disk.
  class Tokens
    def next
      unless @process == Tiercel::Forks.current
        # Assigned before @process: another thread must never continue the parent's sequence or start from nil.
        @last = Random.urandom(8).unpack1("Q") % 2**61
        @process = Tiercel::Forks.current
      end
      @last += 1
    end
  end

  # Keeps results for recently used keys, which saves a digest in each call. The number and length of the keys are
  # bounded, and so is the memory.
  class KeyMemo < Hash
    ENTRIES = 8_192
    LONGEST_KEY_BYTES = 1_024

    # @yieldreturn [Object] the result for the key
    def initialize
      super() { |_, key| remember(key, yield(key)) }
    end

    private

    def remember(key, computed)
      return computed if key.bytesize > LONGEST_KEY_BYTES
      clear if size >= ENTRIES
      self[key] = computed
    end
  end
end
