# frozen_string_literal: true

require "redis-cluster-client"

require_relative "../../backend"
require_relative "../../errors"
require_relative "layout"
require_relative "subscription"

module Tiercel
  module Backends
    class Redis < Backend
      # The {Subscription} of one master of a cluster.
      #
      # A heartbeat is a key of a slot that it has, by a hash tag at its end. A master without slots, to which keys come
      # while slots are on their way to it, can be given no key: it is sent a PING, whose answer comes behind what
      # others were told is done.
      class NodeSubscription < Subscription
        LAYOUT = %w[CLUSTER NODES].freeze
        # Answers to a heartbeat whose slot is another node's by now, or on its way there.
        ELSEWHERE = /\A(MOVED|ASK|TRYAGAIN)\b/
        BASE = 36
        private_constant :LAYOUT, :ELSEWHERE, :BASE

        # @return [String] its name in the cluster
        attr_reader :id

        # @param config [RedisClient::Config]
        # @param name [String] of the backend, for errors
        # @param id [String]
        # @param cluster [ClusterSubscription]
        def initialize(config, name, id, cluster)
          super(config, name)
          @id = id
          @cluster = cluster
        end

        # @return [self]
        # @raise [Refused]
        # @raise [BackendError] also if it is no master of this cluster any more
        def open
          super
          ask
          look(Layout.new(answer))
          self
        end

        # A master without slots may have nothing to tell. {ClusterSubscription#confirm} sees to the rest.
        def read(timeout)
          super
        rescue TimedOut
          raise if @tag
          false
        end

        # @param key [String]
        # @return [void]
        # @raise [BackendError]
        def beat(key)
          tag = @tag
          tag ? super("#{key}#{tag}") : guarded { @driver.write(["PING", key]) }
        end

        # Asks who the masters are. Does not wait for the answer.
        #
        # @return [void]
        # @raise [BackendError]
        def ask = guarded { @driver.write(LAYOUT) }

        private

        # Its answer comes after the messages about earlier changes.
        #
        # @return [String] the answer to the first question
        def answer
          loop do
            reply = guarded { @driver.read }
            guarded { raise reply } if reply.is_a?(RedisClient::Error)
            return reply if reply.is_a?(String)
          end
        end

        def told(keys)
          keys&.each { |key| @cluster.heard(self, key.rpartition("{").first) if key.end_with?("}") }
        end

        # @return [Array<String>, false] the heartbeat that all nodes have confirmed with this answer
        def answered(reply)
          return false if !reply.is_a?(String) || reply == "OK"
          unless reply.include?("myself")
            @cluster.heard(self, reply)
            return false
          end
          look(Layout.new(reply))
          confirmed = @cluster.answered(self) or return false
          [confirmed]
        end

        def refused(error)
          return super unless ELSEWHERE.match?(error.message)
          @tag = nil # until it has said which slots it has
          false
        end

        def look(layout)
          myself = layout.myself
          unless myself&.id == id && myself.master? && layout.complete?
            raise Unavailable.new("#{id} is no master of a whole cluster any more", backend: @name)
          end
          @cluster.check(layout)
          @tag = tag(myself) unless @tag && myself.keeps?(slot(@tag))
        end

        # @return [String, nil] a hash tag of one of its slots
        def tag(myself)
          return if myself.slots.sum(&:size) <= myself.moving.size
          (0..).each do |number|
            tag = "{#{number.to_s(BASE)}}"
            return tag if myself.keeps?(slot(tag))
          end
        end

        def slot(tag) = RedisClient::Cluster::KeySlotConverter.convert(tag)
      end
    end
  end
end
