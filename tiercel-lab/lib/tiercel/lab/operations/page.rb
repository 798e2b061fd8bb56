# frozen_string_literal: true

module Tiercel
  module Lab
    module Operations
      # The cache calls of one page: a read_multi of fragments (as in `render collection, cached: true`), some reads,
      # and fetches by a record. All calls hit. They run inside Rails' request-local cache if the store has one; it is
      # empty at the beginning of each request. Timed by the CPU time of the process.
      define "page", "the cache work of a page in a request", clock: :cpu,
             preamble: "request = inputs.request",
             body: "page = inputs.pages[i % inputs.pages.size]; request.call { " \
                   "store.read_multi(*page.fragments); " \
                   "page.reads.each { |name| store.read(name) }; " \
                   "page.records.each { |record| store.fetch(record) { @misses += 1 } } }" do
        page = Struct.new(:fragments, :reads, :records)
        const_set(:Page, page)
        const_set(:Inputs, Struct.new(:pages, :request))
        const_set(:FRAGMENTS, 50)
        const_set(:READS, 20)
        const_set(:RECORDS, 10)

        def unsuitable(value) = ("a page of such values is no use case" if value.large?)

        def names_for(value) = [value.count, self.class::FRAGMENTS + self.class::READS].max

        # Uses other names for each page while there are enough.
        def inputs(arm)
          fragments, reads, records = self.class::FRAGMENTS, self.class::READS, self.class::RECORDS
          pages = Array.new(arm.count / (fragments + reads)) do |index|
            first = index * (fragments + reads)
            self.class::Page.new(arm.names[first, fragments], arm.names[first + fragments, reads],
                                 Array.new(records) { |record| name_of(arm, (index * records) + record) })
          end
          self.class::Inputs.new(pages, request(arm.store))
        end

        def setup(arm)
          super
          by_record(arm) { |record, value| arm.store.write(record, value) }
        end

        def written(arm) = arm.names + arm.inputs.pages.flat_map(&:records)

        def verify(arm)
          pages = arm.inputs.pages
          found = pages.map { |page| arm.store.read_multi(*page.fragments) }.reduce(:merge)
          values = arm.each_pair.to_h
          pages.each do |page|
            page.fragments.each { |name| arm.expect(values[name], found[name]) }
            page.reads.each { |name| arm.expect(values[name], arm.store.read(name)) }
          end
          by_record(arm) { |record, value| arm.expect(value, arm.store.fetch(record) { nil }) }
        end

        private

        # Builds the name that Rails' `cache` helper makes for a fragment.
        def name_of(arm, number) = [:views, "tiercel-lab:0123abcd", Record.new((arm.id * 1_000_000) + number)]

        def by_record(arm)
          arm.inputs.pages.flat_map(&:records).each_with_index do |record, index|
            yield record, arm.values[index % arm.values.size]
          end
        end

        def request(store)
          return ->(&work) { work.call } unless store.respond_to?(:with_local_cache)
          store.method(:with_local_cache)
        end
      end
    end
  end
end
