# frozen_string_literal: true

require_relative "catalogue"
require_relative "operation"
require_relative "operations/read"
require_relative "operations/fetch"
require_relative "operations/miss"
require_relative "operations/write"
require_relative "operations/read_multi"
require_relative "operations/write_multi"
require_relative "operations/fetch_multi"
require_relative "operations/exist"
require_relative "operations/delete"
require_relative "operations/increment"
require_relative "operations/subscribed"
require_relative "operations/backend"
require_relative "operations/compression"
require_relative "operations/serialization"
require_relative "operations/end_to_end"
require_relative "operations/client"
require_relative "operations/loop"

module Tiercel
  module Lab
    # The operations that the lab knows, by name.
    module Operations
      extend Catalogue

      DEFAULT = %w[read fetch miss write read_multi].freeze
      QUICK = %w[read fetch miss write].freeze

      [Read, Fetch, Miss, Write, ReadMulti, WriteMulti, FetchMulti, Exist, Delete, Increment, FetchExpiresIn,
       FetchRecord, ReadBesideWriter, WriteFull, BackendGet, BackendSet, BackendSetFull].each do |operation|
         add operation.new
       end
      %w[read fetch write].each { |name| add Subscribed.new(fetch(name)) }
      %w[read fetch].each { |name| add Subscribed.new(fetch(name), "event") }
      [Deflate, Inflate, Dump, LoadBytes, DumpAndLoad, EndToEndRead, EndToEndWrite, WireGet,
       WireSet].each { |operation| add operation.new }
      [ClientGet, ClientSet, ClientGetMulti, ClientSetMulti, ClientDeleteMulti, ClientLoop].each do |operation|
        add operation.new
      end
      add Loop.new

      def self.noun = "operation"
    end
  end
end
