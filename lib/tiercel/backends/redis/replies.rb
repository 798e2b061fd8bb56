# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../errors"

module Tiercel
  module Backends
    class Redis < Backend
      # Checks the type of a reply. A reply of another type comes from a server that is not Redis, or belongs to
      # another command. In both cases no open connection is reused.
      #
      # @private
      module Replies
        OK = "OK"
        private_constant :OK

        private

        # @param kind [#===]
        # @return [Object] the reply
        # @raise [Unavailable]
        def expect(kind, reply)
          return reply if kind === reply
          @commands.renew
          raise Unavailable.new("unexpected reply of the class #{reply.class}", backend: @name)
        end

        # @return [Array] exactly `count` replies
        def expect_all(count, replies)
          expect(Array, replies)
          replies.size == count ? replies : expect(nil, replies)
        end

        # A frozen reply is a status such as OK, not a value.
        #
        # @return [String, nil] in binary
        def binary(reply)
          return if reply.nil?
          expect(nil, reply) if expect(String, reply).frozen?
          reply.force_encoding(Encoding::BINARY)
        end
      end
    end
  end
end
