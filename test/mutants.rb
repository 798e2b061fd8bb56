# frozen_string_literal: true

# The faults of `rake mutants`: test/support/mutants.rb. Each names the promise that it breaks.

# --- views ---

mutant "a fragment's miss takes the flight and the lease", "lib/tiercel/fragments.rb",
       "return super unless Tiercel::Fragments.serve?(store)\n      key =", "return super\n      key =",
       tests: "test/views/fragments_test.rb"
mutant "views never refresh in the background", "lib/tiercel/fragments.rb",
       "options ? { **options, **INLINE } : INLINE", "options || {}", tests: "test/views/fragments_test.rb"
mutant "the event of the write encloses the write", "lib/tiercel/fragments.rb",
       "Tiercel::Fragments.options(options), storing: writing) do", "Tiercel::Fragments.options(options)) do",
       tests: "test/views/fragments_test.rb"
mutant "an item has its own tags", "lib/tiercel/fragments.rb",
       "write_options.tags = tags.call(items[name]) if tags", "nil", tests: "test/views/collections_test.rb"
mutant "only missing items are rendered", "lib/tiercel/fragments.rb",
       "missing = items.except(*found.keys)", "missing = items", tests: "test/views/collections_test.rb"
mutant "a record is one tag for its life", "lib/tiercel/store/tags.rb",
       '"#{tag.model_name.cache_key}/#{tag.id}"', "expanded_key([tag, tag.updated_at.to_s])",
       tests: "test/views/model_tags_test.rb"
mutant "a rollback invalidates nothing", "lib/tiercel/model_tags.rb", "after_commit do", "after_save do",
       tests: "test/views/model_tags_test.rb"
mutant "an encrypted Solid Cache stays", "lib/generators/tiercel/install/install_generator.rb",
       "if kind == :solid_cache_store && (file = encrypted)", "if kind == :none && (file = encrypted)",
       tests: "test/generators/install_test.rb"
mutant "cas compares", "lib/tiercel/store/compare_and_set.rb",
       "@settings.backend.compare_and_set(key, bytes, token, ttl)", "@settings.backend.set(key, bytes, ttl)",
       tests: "test/store/contract_on_disk_test.rb"
