# frozen_string_literal: true

require "objspace"
require_relative "../memo"
require_relative "native"

module Tiercel
  module Accessors
    # Reads and writes through a {Segment}, with `frozen: true`: reads return deep-frozen values of plain types. The
    # memo keeps decoded values, and a process decodes such a value only once after each change.
    #
    # @private
    class Frozen < Native
      def initialize(backend, guard, coder)
        super
        Memo.watch(@segment)
      end

      # The segment returns an unfrozen result if it has to be decoded: the frame, with its token if the memo would keep
      # the value.
      def read(key, version, _event = nil)
        return super if Fetch.inside?
        value = @segment.read_frozen(key, version)
        return decoded(key, value, version) unless value.frozen?
        value.nil? ? MISS : value
      rescue BackendError => error
        failed(:read_entry, key, error)
        MISS
      end

      def read_multi(keys, versions, undecided, _event = nil)
        keys.each_with_index.with_object({}) do |(key, index), found|
          next if found.key?(key) # `keys` contains this key twice
          value = read(key, versions && versions[index])
          next if MISS.equal?(value)
          undecided << key if Coder::Signal === value
          found[key] = value
        end
      end

      private

      def decoded(key, read, version)
        bytes, token = read
        value = decode(key, bytes, version)
        return value if Coder::Signal === value || !DeepFreeze.call(value)
        Memo.keep_frozen(@segment, key, bytes, token, value) if token
        value
      end
    end
  end
end
