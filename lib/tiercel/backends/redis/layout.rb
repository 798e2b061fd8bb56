# frozen_string_literal: true

require "redis-cluster-client"

require_relative "../../backend"
require_relative "../../errors"

module Tiercel
  module Backends
    class Redis < Backend
      # The layout of a cluster as one node describes it: the reply to CLUSTER NODES.
      class Layout
        SLOTS = 16_384
        # Of a node that takes no writes, unless it has slots.
        AWAY = %w[fail handshake noaddr].freeze
        SLOT_RANGE = /\A(\d+)(?:-(\d+))?\z/
        # "[93->-ID]" or "[93-<-ID]": on its way to another node, or from it.
        MOVING = /\A\[(\d+)-/
        private_constant :AWAY, :SLOT_RANGE, :MOVING

        # One line of it.
        Node = Struct.new(:id, :flags, :slots, :moving) do
          # @return [Boolean]
          def master? = flags.include?("master")

          # @return [Boolean] whether it may take a write: it has slots, or may be about to get some
          def writable? = master? && (slots.any? || !flags.intersect?(AWAY))

          # @param slot [Integer]
          # @return [Boolean] whether it has that slot, and is not to give it away
          def keeps?(slot) = slots.any? { |range| range.cover?(slot) } && !moving.include?(slot)
        end

        # @return [Array<Node>]
        attr_reader :nodes

        # @param text [String]
        def initialize(text)
          @nodes = text.lines.map { |line| node(*line.split) }
        end

        # @return [Node, nil] the one that says so
        def myself = nodes.find { |node| node.flags.include?("myself") }

        # @return [Array<Node>] masters that a write may go to
        def masters = nodes.select(&:writable?)

        # @return [Boolean] whether each slot has a master
        def complete? = masters.sum { |node| node.slots.sum(&:size) } == SLOTS

        private

        def node(id, _place, flags, _master, _ping, _pong, _epoch, _link, *slots)
          ranges = slots.filter_map do |text|
            first, last = SLOT_RANGE.match(text)&.captures
            Range.new(Integer(first), Integer(last || first)) if first
          end
          Node.new(id, flags.to_s.split(","), ranges, slots.filter_map { |text| text[MOVING, 1]&.to_i })
        end
      end
    end
  end
end
