# frozen_string_literal: true

# The common parts of `sqlite:` and `file:`: options, tokens, and a memo of digests.
module Tiercel::Backends::Disk
  DEFAULT_SIZE = "1GB"
  SMALLEST_SIZE_BYTES = 4 * 1024**2
  DEFAULT_TIMEOUT_SECONDS = 0.25
  # A larger value is refused: one write may exceed `size` by this share at most.
  LARGEST_VALUE_SHARE = 20

  # The options of a URL's query string are Strings, so Strings with numbers are accepted too.
  #
  # @return [Integer] bytes on disk
  # @raise [ConfigurationError]
  def self.size_bytes(size)
    bytes = Tiercel::Sizes.bytes(size.to_s.match?(/\A\d+\z/) ? size.to_i : size)
    return bytes if bytes >= SMALLEST_SIZE_BYTES
    raise Tiercel::ConfigurationError, "size: expected at least #{Tiercel::Sizes.human(SMALLEST_SIZE_BYTES)} on " \
                                       "disk, got #{Tiercel::Sizes.human(bytes)}"
  end

  # @return [Float] the time budget of a call
  # @raise [ConfigurationError]
  def self.timeout_seconds(timeout)
    seconds = Float(timeout, exception: false)
    return seconds if seconds&.positive? && seconds.finite?
    raise Tiercel::ConfigurationError, "timeout: expected seconds (Numeric > 0), got #{Tiercel::Redacted.text(timeout)}"
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
