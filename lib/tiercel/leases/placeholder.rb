# frozen_string_literal: true

module Tiercel
  class Leases
    # A lease as a frame of type 0x20. Its part LEASE contains lineage, holder and ttl; its payload is the stale value
    # or empty. Its expiry is that of the lease by the holder's clock.
    #
    # @private
    module Placeholder
      include Frame::Layout

      module_function

      # @param bytes [String] the bytes read from a backend
      # @return [Boolean] whether they look like a placeholder
      def placeholder?(bytes)
        bytes.getbyte(0) == MAGIC && bytes.getbyte(TYPE_AT) == TYPE_PLACEHOLDER && bytes.bytesize >= HEADER_BYTES
      end

      # @param bytes [String] the bytes read from a backend
      # @param holder [String]
      # @return [Boolean] whether they are this holder's placeholder
      def held_by?(bytes, holder)
        placeholder?(bytes) &&
          bytes.byteslice(HEADER_BYTES, bytes.unpack1("S<", offset: PARTS_BYTES_AT)).include?(holder)
      end

      # @param lease [Lease]
      # @param ttl [Float] seconds
      # @return [String]
      def build(lease, ttl)
        parts = Frame::Parts.encode_lease(lease.lineage + lease.holder, ttl)
        parts = Frame::Parts.encode(version: lease.version) << parts if lease.version
        Frame.build(TYPE_PLACEHOLDER, lease.stale || "", expires_at: Clock.now + ttl, parts:, checksum: true)
      end

      # @param key [String]
      # @param bytes [String]
      # @param token [Object, nil] the backend's token
      # @yieldparam ttl [Float] seconds, as the holder requested
      # @yieldparam ends_at [Float] epoch seconds, by the holder's clock
      # @yieldreturn [Float] the time of {Clock.monotonic} at which the lease lapses
      # @return [Lease, nil] nil for a damaged placeholder and for any other bytes
      def parse(key, bytes, token = nil)
        return unless placeholder?(bytes)
        frame = Frame.parse(bytes)
        names, ttl = frame.parts.lease
        return unless names && ttl.finite?
        lineage, holder = names.unpack("a8a8")
        Lease.new(key, lineage, holder, version: frame.parts.version, stale: stale(frame), token:,
                                        lapses_at: (yield ttl, frame.expires_at, "#{names}#{frame.expires_at}"))
      rescue MalformedFrame
        nil
      end

      # @param bytes [String] the bytes read from a backend
      # @return [String, nil] the bytes that a plain read returns; for a placeholder its stale value or nil
      def visible(bytes)
        return bytes unless placeholder?(bytes)
        stale(Frame.parse(bytes))
      rescue MalformedFrame
        bytes
      end

      def stale(frame) = frame.payload.empty? ? nil : frame.payload.freeze
      private_class_method :stale
    end
  end
end
