# frozen_string_literal: true

module Tiercel
  class Backend
    # The traits of a {Backend}. The layers above decide by them how to treat its entries and its failures.
    # Each answer is the same for as long as the backend lives, but those of {#answers_elsewhere?} and
    # {#compares?}.
    module Traits
      # Whether a get costs less than compressing or a checksum would. Near
      # backends store small values uncompressed, keep no checksum of the
      # payload, and need neither Rails' request-local cache nor a circuit
      # breaker.
      #
      # @return [Boolean]
      def near? = false

      # Whether it can tell of every key that anybody changes ({Backend#subscription}), so that near copies of what it
      # has may live long ({Tiers}).
      #
      # @return [Boolean]
      def subscribable? = false

      # Whether a server with a clock of its own ends the TTLs, over a connection
      # that can fail.
      #
      # @return [Boolean]
      def remote? = false

      # @return [Boolean] whether it is several backends as one ({Tiers}), of which a read can tell which one answered
      def tiered? = false

      # @return [Boolean] whether Rails' request-local cache pays in front of it
      def local_cache? = !near?

      # A near backend keeps smaller values uncompressed: only large values are worth the time.
      NEAR_COMPRESS_THRESHOLD_BYTES = 128 * 1024

      # @return [Integer, nil] bytes from which values are compressed by default; nil for Rails' own default
      def compress_threshold_bytes = near? ? NEAR_COMPRESS_THRESHOLD_BYTES : nil

      # @return [Boolean] whether frames carry a checksum of their payload by default
      def checksum? = !near?

      # @return [Boolean] whether its keys are on several servers, of which one may be away while the others answer
      def several_servers? = false

      # Asked after a failure. One server of several has a breaker of its own; that of the store is for all of them.
      #
      # @return [Boolean] whether a server of several is not known to fail
      def answers_elsewhere? = false

      # Whether {Backend#compare_and_set} works, which leases as placeholders need.
      #
      # @param ask [Boolean] whether the server may be asked, where that is not known
      # @return [Boolean, nil] nil where it is not known
      # @raise [BackendError]
      def compares?(ask: true) = true # rubocop:disable Lint/UnusedMethodArgument

      # Which keys {Backend#scan} and {Backend#clear} with a prefix can reach.
      #
      # @return [Boolean] false where the medium cannot list its keys: both then raise {Refused}
      def scannable? = true
    end
  end
end
