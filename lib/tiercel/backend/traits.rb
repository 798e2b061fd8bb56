# frozen_string_literal: true

module Tiercel
  class Backend
    # The properties of a {Backend}. The layers above read them to decide how to treat its entries and failures. They
    # never change during a backend's life, except {#answers_elsewhere?} and {#compares?}.
    module Traits
      # Whether a get costs less than compression or a checksum. A near backend stores small values uncompressed and
      # without a checksum. It needs neither Rails' request-local cache nor a circuit breaker.
      #
      # @return [Boolean]
      def near? = false

      # Whether the backend reports all changes of keys ({Backend#subscription}), which allows long-lived near copies
      # ({Tiers}).
      #
      # @return [Boolean]
      def subscribable? = false

      # Whether the entries are on a server, which expires them by its own clock, behind a connection that can fail.
      #
      # @return [Boolean]
      def remote? = false

      # @return [Boolean] whether it combines several backends ({Tiers}) and its reads tell which one answered
      def tiered? = false

      # @return [Boolean] whether Rails' request-local cache saves time in front of this backend
      def local_cache? = !near?

      # For a near backend, compression saves time only with large values.
      NEAR_COMPRESS_THRESHOLD_BYTES = 128 * 1024

      # @return [Integer, nil] default minimum size in bytes for compression; nil for Rails' default
      def compress_threshold_bytes = near? ? NEAR_COMPRESS_THRESHOLD_BYTES : nil

      # @return [Boolean] whether frames carry a checksum of their payload by default
      def checksum? = !near?

      # @return [Boolean] whether the keys are spread over several servers, some of which may fail while others answer
      def several_servers? = false

      # Called after a failure. Each of several servers has its own breaker; the store's breaker covers all of them.
      #
      # @return [Boolean] whether at least one of several servers is not known to be failing
      def answers_elsewhere? = false

      # Whether {Backend#compare_and_set} works; leases kept as placeholders need it.
      #
      # @param ask [Boolean] whether to ask the server if the answer is not known yet
      # @return [Boolean, nil] nil if it is not known
      # @raise [BackendError]
      def compares?(ask: true) = true # rubocop:disable Lint/UnusedMethodArgument

      # Whether {Backend#scan} and {Backend#clear} with a prefix find all keys.
      #
      # @return [Boolean] false if the medium cannot list its keys; both methods then raise {Refused}
      def scannable? = true
    end
  end
end
