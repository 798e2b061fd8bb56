# frozen_string_literal: true

ActiveRecord::Schema[7.2].define(version: 1) do
  create_table :products, force: :cascade do |table|
    table.string :name, null: false
    table.integer :price_in_cents, null: false
    table.text :description, null: false
    table.string :tags, null: false
    table.timestamps
  end

  # The table of Solid Cache's entries.
  create_table :solid_cache_entries, force: :cascade do |table|
    table.binary :key, limit: 1024, null: false
    table.binary :value, limit: 536_870_912, null: false
    table.datetime :created_at, null: false
    table.integer :key_hash, limit: 8, null: false
    table.integer :byte_size, limit: 4, null: false
    table.index :byte_size
    table.index %i[key_hash byte_size]
    table.index :key_hash, unique: true
  end
end
