# frozen_string_literal: true

require_relative "../memo"
require_relative "../accessor"

module Tiercel
  module Accessors
    # Reads and writes through a {Segment}. For a plain String the segment itself encodes and decodes the frame, so Ruby
    # creates no String for the frame.
    #
    # A segment has no breaker, so reads and writes call the segment directly. The guard is called only for failures.
    #
    # @private
    class Native < Accessor
      def initialize(backend, guard, coder)
        super
        @segment = backend.segment
        @frames_strings = !coder.checksum? # the segment's own frames have no checksum
      end

      def compares_tags? = true

      # The segment returns a frozen result if it could not decode the frame: the frame, or an Array of the frame and
      # its token.
      def read(key, version, _event = nil)
        return super if Fetch.inside? # a block inherits the tags, which the segment would compare without showing them
        value = @segment.read(key, version)
        return value unless value.frozen?
        value.nil? ? MISS : decoded(key, value, version)
      rescue BackendError => error
        failed(:read_entry, key, error)
        MISS
      end

      def read_multi(keys, versions, undecided, _event = nil)
        return super if Fetch.inside?
        found = @segment.read_multi(keys, framed = [], versions)
        return found if framed.empty?
        wanted = keys.zip(versions).to_h if versions
        framed.uniq.each do |key|
          read = found[key]
          next unless read.frozen? # `keys` contains this key twice, and the second read returned a String
          value = found[key] = decoded(key, read, wanted && wanted[key])
          undecided << key if Coder::Signal === value
        end
        found
      rescue BackendError => error
        failed(:read_multi_entries, nil, error)
        {}
      end

      def write(key, value, version, expires_at, ttl, threshold)
        if @frames_strings && version.nil? && value.instance_of?(String) &&
           (threshold.nil? || value.bytesize < threshold)
          stored = @segment.write_string(key, value, expires_at, ttl)
        end
      rescue BackendError => error
        failed(:write_entry, key, error)
      else
        return stored || too_large(key, value) unless stored.nil? # nil: Ruby has to encode this String
        set(key, @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0, key), ttl)
      end

      # The segment counts its writes.
      def set(key, bytes, ttl)
        stored = @segment.set(key, bytes, ttl)
      rescue BackendError => error
        failed(:write_entry, key, error)
      else
        stored || too_large(key, bytes)
      end

      private

      # Decodes an entry with tags if its tags are current. The segment compares their generations in the same call.
      def resolve(signal, bytes, version, token)
        return super unless Coder::SLOW.equal?(signal) && @segment.tags_current?(bytes)
        value = @coder.load_tagged_value(bytes, nil, version)
        return super if Coder::Signal === value
        inherit_tags(bytes) if Fetch.inside?
        DeepFreeze.call(value) if @frozen
        value
      end

      # Decodes a frame. If the memo would keep the String, the segment returns the frame with its token.
      def decoded(key, read, version)
        return decode(key, read, version) unless Array === read
        bytes, token = read
        value = decode(key, bytes, version)
        Memo.keep_string(@segment, key, bytes, token, value) if String === value
        value
      end

      def too_large(key, bytes) = @guard.call(:write_entry, key) { @guard.too_large(key, bytes.bytesize) }

      # Passes the segment's error to the guard.
      def failed(method, key, error) = @guard.call(method, key) { raise error }
    end
  end
end
